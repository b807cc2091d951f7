//! Which arm a history drives, over which connection: every startup, avoidance and recovery with
//! the options that change their paths.

use super::Source;
use firstflight::Config;

/// Startups with options.
pub(crate) const STARTUPS: &[&str] = &[
    "slowstart",
    "limited",
    "limited(max=10,int=on)",
    "hystart",
    "hystart(scale=0.5,low=0)",
    "hystart(profile=gvisor)",
    "hystart(profile=ns3,roll=growth)",
    "hystart(roll=gate,train=off)",
    "hystart++",
    "hystart++(css=off)",
    "hystart++(mode=lss,low=0)",
    "hystart++(mode=lss,int=on)",
    "hystart++(rearm=always,baseline=entry,divisor=2)",
    "hystart++(end=passed,fresh=entry)",
    "hystart++(rearm=idle,fresh=off,keep=on,cap=2)",
    "hystart++(rearm=rto,skip=on,limited=on,css=1)",
    "search",
    "search(version=3.1)",
    "search(version=3.1-2025,bits=24)",
    "search(exit=jump,thresh=1,extra=1,warmup=kernel)",
    "search(exit=rollback,missed=1,interpolate=newer,edge=open,thresh=50)",
    "search(exit=none,ratio=64,epoch=on)",
    "search(guard=on)",
    "hystart++(end=limbo)",
    "best",
    "best(samples=1,fallback=hystart++,percentile=100)",
    "best(queue=100000,fallback=none,percentile=0)",
    "best-published",
    "best-published(round=0,low=0,percentile=100)",
    "best-published(set=off)",
    "rapid",
    "rapid(hystart=on)",
    "rapid(hystart=on,recovery=off,jump=off)",
    "rapid(k=11/18,threshold=quicly)",
    "rapid(jump=off,spread=on)",
    "rapid(jump=60,recovery=off)",
    "rapid(jump=100000iw)",
    "suss",
    "suss(max=1)",
    "suss(max=6)",
    "bbr",
    "bbr(aggregation=on,handover=longterm,ranges=1,rounds=1)",
    "bbr(gain=1.5,drain=1,loss=0.5)",
    "bbr3",
    "bbr3(loss=0.5,beta=0.3,headroom=0.5)",
    "bbr3(precaution=off,probertt=off,beta=1)",
    "careful",
    "careful(saved=300)",
    "careful(saved=100000,rtt=1,hystart=on,beta=1)",
    "careful(saved=100,max=40)",
    "plumb",
    "plumb-tolerant",
    "plumb(train=100,growth=100,strikes=100,bunches=off)",
    "plumb(train=2,growth=2,strikes=1,tolerate=10,keep=0.99)",
    "plumb(rapid=on)",
    "plumb(clock=on)",
    "plumb(clock=on,verify=on,saved=40,rtt=20)",
    "plumb(saved=1000000)",
    "plumb(verify=on,rapid=on)",
    "chirping",
    "chirping(opening=chirp,ecn=ignore,overload=30)",
    "chirping(geometry=3,gain=4,l=2)",
    "chirping(geometry=1,gain=1,l=8,overload=1)",
    "jumpstart",
    "jumpstart(jump=100000)",
    "jumpstart(jump=3)",
    "oracle",
    "oracle(rate=on)",
    "oracle(exit=1)",
    "oracle(exit=18446744073709551614)",
];

/// Avoidances with options.
pub(crate) const AVOIDANCES: &[&str] = &[
    "cubic",
    "cubic(profile=linux)",
    "cubic(abe=0.85,first=0.5,base=inflight)",
    "cubic(fast=off,floor20=on,beta=0.05)",
    "cubic(idle=sent,abe=0.85)",
    "cubic(beta=0.9999)",
    "cubic(profile=linux,beta=0.5,base=inflight)",
    "abba",
    "abba(over=cuback,gain=0.6,cap=off,abe=0.85)",
    "abba(version=1)",
    "abba(version=1,over=cuback,abe=0.85)",
    "cuback",
    "cuback(alpha=1,abe=0.85,base=inflight)",
    "cuback(first=0.5,fast=off,beta=0.05)",
    "dctcp",
    "dctcp(gain=1/2,alpha=off)",
    "prague",
    "prague(rtt=0,fast=off,gain=1)",
    "reno",
    "reno(abe=0.8,base=inflight)",
    "reno(first=0.9,beta=0.05)",
];

/// Recoveries with options.
pub(crate) const RECOVERIES: &[&str] = &[
    "prr",
    "prr(guard=on,lost=ignore)",
    "prr(mode=crb)",
    "prr(mode=ssrb,guard=on)",
    "prr(mode=ub)",
    "prr(mode=linux)",
    "prr(safeack=2015)",
    "prr(mode=linux,safeack=2015,guard=on)",
    "immediate",
    "sack",
    "sack(fill=any,inflate=10,lost=ignore)",
    "halving",
    "halving(floor=half,moderation=off)",
    "halving(moderation=0)",
];

/// Options of the sender.
pub(crate) const SENDERS: &[&str] = &[
    "",
    "",
    "@(pace=on)",
    "@(pace=off)",
    "@(iw=1)",
    "@(iw=1000)",
    "@(iw=30,recgain=1)",
    "@(recgain=4,burst=1)",
    "@(detection=linux26,early=ab)",
    "@(increase=maxfs)",
    "@(increase=literal)",
    "@(acks=4)",
];

/// The arm of these parts; nothing follows BBR.
pub(crate) fn of_parts(startup: &str, avoidance: &str, recovery: &str) -> String {
    if startup.starts_with("bbr3") {
        startup.to_owned()
    } else {
        format!("{startup}/{avoidance}/{recovery}")
    }
}

/// A connection and the text of its arm.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The arm.
    pub text: String,
    /// TCP or QUIC.
    pub tcp: bool,
    /// Segment size.
    pub mss: u64,
    /// Initial window.
    pub iw: u64,
    /// Largest burst.
    pub max_burst: u64,
    /// RFC 5681's idle rule.
    pub idle_restart: bool,
    /// The exit of an oracle that was not told one.
    pub oracle_exit: u64,
    /// Operations of nonsense are among the others.
    pub nonsense: bool,
}

impl Choice {
    /// Reads a choice.
    pub(crate) fn read(source: &mut Source<'_>) -> Choice {
        let startup = *source.pick(STARTUPS);
        let avoidance = *source.pick(AVOIDANCES);
        let recovery = *source.pick(RECOVERIES);
        let sender = *source.pick(SENDERS);
        let unpaced = sender == "@(pace=off)";
        // The parser refuses a jump without a pacer.
        let jumps = startup.starts_with("jumpstart")
            || startup.starts_with("bbr")
            || startup.starts_with("suss")
            || startup.contains("saved=")
            || (startup.starts_with("rapid") && !startup.contains("jump=off"));
        let sender = if unpaced && jumps { "" } else { sender };
        let flags = source.u8();
        let nonsense = flags & 1 == 1;
        let mss = if nonsense {
            source.wild(1448)
        } else {
            *source.pick(&[1_200, 1_448, 1, 8_948, 65_535])
        };
        Choice {
            text: format!("{}{sender}", of_parts(startup, avoidance, recovery)),
            tcp: flags & 2 == 2,
            mss,
            iw: if nonsense {
                source.wild(mss.saturating_mul(10))
            } else {
                Config::standard_initial_window(mss)
            },
            max_burst: if nonsense { source.wild(65_536) } else { 65_536 },
            idle_restart: flags & 4 == 4,
            oracle_exit: if nonsense { source.wild(1_000_000) } else { mss * 300 },
            nonsense,
        }
    }

    /// The defaults of the transport.
    pub(crate) fn base(&self) -> Config {
        if self.tcp { Config::tcp(self.mss) } else { Config::quic(self.mss) }
    }
}
