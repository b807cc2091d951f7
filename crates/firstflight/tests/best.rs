mod ack_clock;
use ack_clock::*;
use firstflight::startup::*;
use firstflight::*;
#[test]
fn sizes() {
    let lim = Nanos::from_secs(60);
    for link in [GEO, LEO, FIVE_G, FOUR_G] {
        for q in [25, 50, 100] {
            let l = Link { queue_percent: q, ..link };
            let r = run(&mut SlowStart, &l, lim, false, |_, _, _| ());
            println!(
                "{} {q}: bdp {} drop {:?} learned {:?}",
                l.name,
                l.bdp_packets(),
                r.first_drop.map(|d| (Report::rtts(d.0, &l), d.1)),
                r.learned.map(|d| Report::rtts(d, &l))
            );
        }
        for (name, back) in [
            ("40ms", Return::Batch { period: 40_000_000, cap: 100000, lo: 30_000, hi: 30_000 }),
            ("5ms", Return::Batch { period: 5_000_000, cap: 100000, lo: 30_000, hi: 30_000 }),
            ("lte", Return::Batch { period: 5_000_000, cap: 24, lo: 9_000, hi: 30_000 }),
            ("lte10", Return::Batch { period: 10_000_000, cap: 24, lo: 9_000, hi: 30_000 }),
            ("lte2.5", Return::Batch { period: 2_500_000, cap: 24, lo: 9_000, hi: 30_000 }),
            ("cold1", Return::GeoCold { seed: 1 }),
            ("cold2", Return::GeoCold { seed: 2 }),
        ] {
            for paced in [false, true] {
                let l = Link { back, paced, ..link };
                let mut b = BestPublished::default();
                let r = run(&mut b, &l, lim, false, |_, _, _| ());
                println!(
                    "{} {name} {paced} pub: aims {:?} exit {:?} drop {:?} learned {:?}",
                    l.name,
                    r.aims.iter().map(|a| (Report::rtts(a.0, &l), a.1, a.2)).collect::<Vec<_>>(),
                    r.exit,
                    r.first_drop,
                    r.learned
                );
                b.signals(&mut |n, v| print!("{n}={v} "));
                let mut b = Best::new(best::Params { fallback: best::FallbackParams::None, ..Default::default() });
                let r = run(&mut b, &l, lim, false, |_, _, _| ());
                println!(
                    "   best: aims {:?} exit {:?} drop {:?} {:?}",
                    r.aims.iter().map(|a| (Report::rtts(a.0, &l), a.1, a.2)).collect::<Vec<_>>(),
                    r.exit,
                    r.first_drop,
                    b.counts()
                );
            }
        }
        let l = Link { paced: true, ..link };
        let mut b = Best::new(best::Params { fallback: best::FallbackParams::None, ..Default::default() });
        let r = run(&mut b, &l, lim, false, |_, _, _| ());
        println!(
            "{} PACED  best: aims {:?} exit {:?} drop {:?} {:?}",
            link.name,
            r.aims.iter().map(|a| (Report::rtts(a.0, &l), a.1, a.2)).collect::<Vec<_>>(),
            r.exit,
            r.first_drop,
            b.counts()
        );
    }
}
