mod ack_clock;
use ack_clock::*;
use firstflight::startup::*;
use firstflight::*;
#[test]
fn sizes() {
    println!("search {} best {} published {} ", size_of::<Search>(), size_of::<Best>(), size_of::<BestPublished>());
    let lim = Nanos::from_secs(60);
    for link in [GEO, LEO, FIVE_G, FOUR_G] {
        for q in [25, 50, 100, 320] {
            let l = Link { queue_percent: q, ..link };
            let r = run(&mut SlowStart, &l, lim, false, |_, _, _| ());
            println!(
                "{} {q}: bdp {} drop {:?} learned {:?}",
                l.name,
                l.bdp_packets(),
                r.first_drop.map(|d| (Report::rtts(d.0, &l), d.1)),
                r.learned.map(|d| Report::rtts(d, &l))
            );
            for ae in [1, 2] {
                let l = Link { ack_every: ae, ..l };
                let mut b = BestPublished::default();
                let r = run(&mut b, &l, lim, false, |_, _, _| ());
                println!(
                    "   pub ae {ae}: aims {:?} exit {:?} drop {:?}",
                    r.aims.iter().map(|a| (Report::rtts(a.0, &l), a.1, a.2)).collect::<Vec<_>>(),
                    r.exit,
                    r.first_drop
                );
                let mut b = Best::default();
                let r = run(&mut b, &l, lim, false, |_, _, _| ());
                println!(
                    "   best ae {ae}: aims {:?} exit {:?} drop {:?} {:?}",
                    r.aims.iter().map(|a| (Report::rtts(a.0, &l), a.1, a.2)).collect::<Vec<_>>(),
                    r.exit,
                    r.first_drop,
                    b.counts()
                );
            }
        }
    }
    for q in [100, 150, 200, 250, 320, 470, 500] {
        let l = Link { queue_percent: q, ..GEO };
        for t in [26, 35] {
            let mut s = Search::new(search::Params { thresh_percent: t, exit: search::Exit::None, ..search::Params::V4_0 });
            let r = run(&mut s, &l, lim, false, |_, _, _| ());
            println!(
                "search {q} {t}: {:?} drop {:?} learned {:?} {:?}",
                r.exit.map(|e| (Report::rtts(e.0, &l), e.1)),
                r.first_drop.map(|d| (Report::rtts(d.0, &l), d.1)),
                r.learned.map(|d| Report::rtts(d, &l)),
                s.stats()
            );
        }
    }
}
