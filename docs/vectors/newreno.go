// Runs firstflight's vectors against a NewReno of RFC 9002. Put your controller in its place.
//
//	firstflight vectors --arms 'slowstart/reno(base=cwnd)/immediate' --json vectors.json
//	go run newreno.go vectors.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// The controller that is tested: one packet-number based NewReno, windows in bytes.
type controller struct {
	mss, cwnd, ssthresh, carry uint64
	inRecovery, marked         bool
	mark, txMark               uint64
	undo                       *controller
}

const unset = ^uint64(0)

func (c *controller) avoid(acked uint64) { // RFC 9002 7.3.3
	sum, cwnd := c.mss*acked+c.carry, c.cwnd
	c.carry = sum % cwnd
	c.cwnd += sum / cwnd
}

func (c *controller) ack(e event) {
	if c.inRecovery {
		if e.n("una") <= c.mark { // RFC 9002 7.3.2: until something sent after entry is acknowledged
			return
		}
		c.inRecovery = false
	}
	txLost, hasLost := e.number("tx_lost")
	lossNews := e.n("lost_bytes") > 0 && (!c.marked || hasLost && txLost >= c.txMark)
	if lossNews || e.flag("ce") && (!c.marked || e.n("una") > c.mark) {
		c.undo = nil
		if lossNews {
			before := *c
			c.undo = &before
		}
		c.ssthresh = max(c.cwnd/2, 2*c.mss) // RFC 9002 7.3.2
		c.cwnd, c.carry, c.inRecovery = c.ssthresh, 0, true
		c.marked, c.mark, c.txMark = true, e.n("nxt"), e.n("tx_next")
		return
	}
	acked := e.n("acked_bytes")
	if c.marked {
		acked = e.n("acked_fresh_bytes")
	}
	limited := e.flag("cwnd_limited") // RFC 9002 7.8
	if c.cwnd >= c.ssthresh {
		if limited {
			c.avoid(acked)
		}
		return
	}
	if !limited && e.n("inflight_before_bytes") < c.cwnd/2 {
		return
	}
	used := min(acked, c.ssthresh-c.cwnd) // RFC 9002 7.3.1
	c.cwnd += used
	if c.cwnd >= c.ssthresh {
		c.carry = 0
		if limited {
			c.avoid(acked - used)
		}
	}
}

func (c *controller) tell(e event) {
	switch e.name() {
	case "ack", "timer":
		c.ack(e)
	case "timeout": // persistent congestion, RFC 9002 7.6.2
		c.cwnd, c.carry, c.inRecovery, c.marked, c.undo = 2*c.mss, 0, false, false, nil
	case "spurious": // RFC 9438 4.9
		old := c.undo
		if old == nil {
			return
		}
		if c.inRecovery || c.cwnd < old.cwnd {
			c.cwnd, c.ssthresh, c.carry = old.cwnd, old.ssthresh, old.carry
		}
		c.undo, c.inRecovery, c.marked = nil, false, false
	case "mss":
		c.mss = e.n("mss")
	}
}

type event struct {
	columns map[string]int
	cells   []any
}

func (e event) name() string { return e.cells[e.columns["event"]].(string) }
func (e event) flag(name string) bool {
	yes, _ := e.cells[e.columns[name]].(bool)
	return yes
}
func (e event) number(name string) (uint64, bool) {
	value, ok := e.cells[e.columns[name]].(float64)
	return uint64(value), ok
}
func (e event) n(name string) uint64 {
	value, _ := e.number(name)
	return value
}

// A packet or 1 %: differences add up, for nothing sets the controller right.
func near(cwnd, expected, mss uint64) bool {
	off := max(cwnd, expected) - min(cwnd, expected)
	return off <= max(mss, expected/100)
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var file struct {
		Columns []string
		Vectors []struct {
			Name   string
			Config struct {
				Mss           uint64
				InitialWindow uint64 `json:"initial_window"`
			}
			Steps [][]any
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		panic(err)
	}
	columns := map[string]int{}
	for index, name := range file.Columns {
		columns[name] = index
	}
	steps := 0
	for _, vector := range file.Vectors {
		c := &controller{mss: vector.Config.Mss, cwnd: vector.Config.InitialWindow, ssthresh: unset}
		for index, cells := range vector.Steps {
			e := event{columns, cells}
			c.tell(e)
			if steps++; !near(c.cwnd, e.n("cwnd"), c.mss) {
				fmt.Printf("%s, step %d (%s): cwnd %d, expected %d\n", vector.Name, index, e.name(), c.cwnd, e.n("cwnd"))
				os.Exit(1)
			}
		}
	}
	fmt.Printf("%d vectors, %d steps: every window within a packet or 1 %%\n", len(file.Vectors), steps)
}
