//! Cost of one ACK: `ack SENDER SCENARIO` plays a scenario once (for an instruction counter that looks at `measured`), `ack time`
//! prints the nanoseconds of all, `ack list` what there is. `ack.sh` makes the table.

mod c;
mod ours;
mod scenario;
mod theirs;

use scenario::{ACKS, SCENARIOS, Scenario};
use std::time::Instant;

/// Something that is told of ACKs.
trait Sender {
    /// The steps that come before what is measured.
    fn prepare(&mut self, scenario: &Scenario);
    /// Puts the ACKs to be measured into the form it is told them in.
    fn arm(&mut self, _scenario: &Scenario) {}
    /// The ACKs that are measured.
    fn play(&mut self, scenario: &Scenario);
    /// The window at the end, to be looked at.
    fn window(&self) -> u64;
}

const ARMS: &[&str] = &[
    "slowstart",
    "limited",
    "hystart",
    "hystart++",
    "hystart++(mode=lss)",
    "search",
    "search(version=3.1)",
    "best",
    "best(fallback=hystart++)",
    "best-published",
    "rapid",
    "rapid(hystart=on)",
    "jumpstart",
    "plumb",
    "bbr",
    "bbr3",
    "careful(saved=300,rtt=30)",
    "plumb-tolerant",
    "oracle(exit=1000000000)",
    "slowstart/cubic(profile=linux)",
    "slowstart/cuback",
    "slowstart/abba",
    "slowstart/reno",
    "slowstart/cubic/immediate",
    "slowstart/cubic/sack",
    "slowstart/cubic/halving",
    "slowstart/reno/immediate",
];
/// Through `libfirstflight`.
const IN_C: &[&str] = &["c:slowstart", "c:hystart++", "c:rapid"];
const THEIRS: &[&str] = &["quinn-cubic", "noq-cubic"];

fn sender(name: &str) -> Box<dyn Sender> {
    match name {
        "quinn-cubic" => Box::new(theirs::quinn()),
        "noq-cubic" => Box::new(theirs::noq()),
        arm => match arm.strip_prefix("c:") {
            Some(arm) => Box::new(c::C::new(arm)),
            None => Box::new(ours::Ours::new(arm)),
        },
    }
}

/// The best of many: the one that nothing else on the machine disturbed.
fn nanoseconds(name: &str, scenario: &Scenario) -> f64 {
    let once = || {
        let mut sender = sender(name);
        sender.prepare(scenario);
        sender.arm(scenario);
        let start = Instant::now();
        sender.play(scenario);
        let time = start.elapsed();
        std::hint::black_box(sender.window());
        time.as_secs_f64() * 1e9 / ACKS as f64
    };
    (0..300).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let scenarios = SCENARIOS.map(Scenario::named);
    match args[..] {
        ["list"] => ARMS.iter().chain(IN_C).chain(THEIRS).for_each(|name| println!("{name}")),
        ["scenarios"] => SCENARIOS.iter().for_each(|name| println!("{name}")),
        ["count"] => println!("{ACKS}"),
        ["time"] => {
            for name in ARMS.iter().chain(IN_C).chain(THEIRS) {
                for (scenario, its_name) in scenarios.iter().zip(SCENARIOS) {
                    println!("{name} {its_name} {:.1}", nanoseconds(name, scenario));
                }
            }
        }
        [name, scenario] => {
            let scenario = Scenario::named(scenario);
            let mut sender = sender(name);
            sender.prepare(&scenario);
            sender.arm(&scenario);
            sender.play(&scenario);
            println!("{}", sender.window());
        }
        _ => {
            eprintln!("usage: ack SENDER SCENARIO | time | list | scenarios | count");
            std::process::exit(2);
        }
    }
}
