//! Prints the processor time of each measurement of `reproduce`: `steps [--full] [DOCUMENT...]`, on one
//! thread, Linux only.

use firstflight_papers::{Effort, SOURCES, Scale, source};
use std::sync::Mutex;

/// Processor time of this process, ms: user and system, in ticks of 10 ms.
fn spent() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10
}

fn main() {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let scale =
        if options.iter().any(|option| option == "--full") { Scale::Full } else { Scale::Quick };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        let named: Vec<_> = names.iter().map(|name| source(name).expect("a document")).collect();
        let all = if named.is_empty() { SOURCES.iter().collect() } else { named };
        for one in all {
            let last = Mutex::new((String::from("before"), spent()));
            let tell = |what: &str| {
                let mut last = last.lock().expect("nobody fails here");
                println!("{:8} ms  {}", spent() - last.1, last.0);
                *last = (what.to_owned(), spent());
            };
            let before = spent();
            one.run(&Effort::new(scale, &tell)).expect("runs");
            tell("");
            println!("{:8} ms  {} in all\n", spent() - before, one.name);
        }
    });
}
