/* Runs firstflight's vectors against a NewReno of RFC 9002. Put your controller in its place.
 *
 *   firstflight vectors --arms slowstart/reno/immediate --json vectors.json
 *   cc -o newreno newreno.c && ./newreno vectors.json
 *
 * Every step of the file stands on a line of its own, which begins with `[`. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 64
#define MIN(a, b) ((a) < (b) ? (a) : (b))
static char columns[MAX_COLUMNS][40];
static char *cells[MAX_COLUMNS];

/* Splits `["a",1,null]` at its commas; no text in it has one. */
static int split(char *line, char **out) {
    int count = 0;
    char *end = strrchr(line, ']');
    if (end) *end = 0;
    for (char *word = strtok(strchr(line, '[') + 1, ",\n"); word && count < MAX_COLUMNS; word = strtok(NULL, ",\n")) {
        while (*word == ' ') word++;
        if (*word == '"') word[strlen(word) - 1] = 0, word++;
        out[count++] = word;
    }
    return count;
}
static const char *text(const char *name) {
    for (int i = 0; i < MAX_COLUMNS && *columns[i]; i++)
        if (!strcmp(columns[i], name)) return cells[i];
    fprintf(stderr, "no column %s\n", name), exit(2);
}
static uint64_t number(const char *name) { return strtoull(text(name), NULL, 10); }
static bool flag(const char *name) { return !strcmp(text(name), "true"); }

/* The controller that is tested: windows in bytes. */
struct controller {
    uint64_t mss, cwnd, ssthresh, carry, mark, tx_mark, old_cwnd, old_ssthresh, old_carry;
    bool in_recovery, marked, undo;
};
static void avoid(struct controller *c, uint64_t acked) { /* RFC 9002 7.3.3 */
    uint64_t sum = c->mss * acked + c->carry, cwnd = c->cwnd;
    c->carry = sum % cwnd, c->cwnd += sum / cwnd;
}
static void on_ack(struct controller *c) {
    if (c->in_recovery) { /* RFC 9002 7.3.2: until something sent after entry is acknowledged */
        if (number("una") <= c->mark) return;
        c->in_recovery = false;
    }
    bool known = strcmp(text("tx_lost"), "null");
    bool loss = number("lost_bytes") > 0 && (!c->marked || (known && number("tx_lost") >= c->tx_mark));
    if (loss || (flag("ce") && (!c->marked || number("una") > c->mark))) {
        c->undo = loss, c->old_cwnd = c->cwnd, c->old_ssthresh = c->ssthresh, c->old_carry = c->carry;
        c->ssthresh = c->cwnd / 2 > 2 * c->mss ? c->cwnd / 2 : 2 * c->mss; /* RFC 9002 7.3.2 */
        c->cwnd = c->ssthresh, c->carry = 0, c->in_recovery = c->marked = true;
        c->mark = number("nxt"), c->tx_mark = number("tx_next");
        return;
    }
    uint64_t acked = number(c->marked ? "acked_fresh_bytes" : "acked_bytes");
    bool limited = flag("cwnd_limited"); /* RFC 9002 7.8 */
    if (c->cwnd >= c->ssthresh) {
        if (limited) avoid(c, acked);
    } else if (limited || number("inflight_before_bytes") >= c->cwnd / 2) {
        uint64_t used = MIN(acked, c->ssthresh - c->cwnd); /* RFC 9002 7.3.1 */
        c->cwnd += used;
        if (c->cwnd < c->ssthresh) return;
        c->carry = 0;
        if (limited) avoid(c, acked - used);
    }
}
static void tell(struct controller *c) {
    const char *event = text("event");
    if (!strcmp(event, "ack") || !strcmp(event, "timer")) {
        on_ack(c);
    } else if (!strcmp(event, "timeout")) { /* persistent congestion, RFC 9002 7.6.2 */
        c->cwnd = 2 * c->mss, c->carry = 0, c->in_recovery = c->marked = c->undo = false;
    } else if (!strcmp(event, "spurious") && c->undo) { /* RFC 9438 4.9 */
        if (c->in_recovery || c->cwnd < c->old_cwnd)
            c->cwnd = c->old_cwnd, c->ssthresh = c->old_ssthresh, c->carry = c->old_carry;
        c->undo = c->in_recovery = c->marked = false;
    }
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) return fprintf(stderr, "which file?\n"), 2;
    static char line[65536];
    struct controller c = {0};
    unsigned long vectors = 0, steps = 0;
    while (fgets(line, sizeof line, file)) {
        char *found;
        if ((found = strstr(line, "\"columns\": ["))) {
            int count = split(found, cells);
            for (int i = 0; i < count; i++) snprintf(columns[i], sizeof columns[i], "%s", cells[i]);
        } else if ((found = strstr(line, "\"mss\": "))) {
            c = (struct controller){.mss = strtoull(found + 7, NULL, 10), .ssthresh = UINT64_MAX};
            vectors++;
        } else if ((found = strstr(line, "\"initial_window\": "))) {
            c.cwnd = strtoull(found + 18, NULL, 10);
        } else if (line[strspn(line, " ")] == '[') {
            split(line, cells);
            tell(&c), steps++;
            if (c.cwnd != number("cwnd"))
                return printf("vector %lu, step %lu (%s): cwnd %" PRIu64 ", expected %" PRIu64 "\n", vectors, steps,
                              text("event"), c.cwnd, number("cwnd")), 1;
        }
    }
    return printf("%lu vectors, %lu steps: every window as expected\n", vectors, steps), vectors == 0;
}
