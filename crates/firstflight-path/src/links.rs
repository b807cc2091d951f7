//! Makes the links and the return path of a path.

use crate::capacity::Queue;
use crate::direction::{Ecn, Effects, Rate};
use crate::error::Error;
use crate::forward::{Forward, ForwardPath};
use crate::link::{Kind, Link};
use crate::losses::Losses;
use crate::path::Path;
use crate::plain::{self, Plain};
use crate::random::Stream;
use crate::release::{HandoverSettings, Release};
use crate::returns::ReturnPath;
use crate::rich::{self, Rich, Way};
use crate::value;
use std::borrow::Cow;

/// The return path: a link that knows each fate at the offer, or an engine that must be driven.
#[derive(Clone, Debug)]
pub enum Reverse {
    /// Every fate is known at the offer.
    Link(Link),
    /// Releases depend on what arrives later.
    Driven(Box<ReturnPath>),
}

impl Path {
    /// Whether ACKs need a [`ReturnPath`], because a release engine or thinning decides about them
    /// later.
    pub fn is_driven(&self) -> bool {
        self.thin().is_some() || matches!(self.release(), Release::Grant(_) | Release::Batch(_))
    }

    /// The forward and the reverse link at time zero, for paths whose ACKs are not driven
    /// ([`Path::is_driven`]).
    ///
    /// `data_len` and `ack_len`: IP bytes of the packets whose serialization the idle RTT includes.
    /// `seed` and `path_index`: the draws of the trial (see [`crate::random`]).
    pub fn links(
        &self,
        data_len: u32,
        ack_len: u32,
        seed: u64,
        path_index: u64,
    ) -> Result<(Link, Link), Error> {
        self.refuse_driven()?;
        let (forward, reverse) = self.directions(data_len, ack_len)?;
        Ok((forward.link(seed, path_index), reverse.link(seed, path_index)))
    }

    /// Like [`Path::links`], but reuses existing links: between constant-rate paths without effects
    /// nothing is allocated.
    pub fn links_into(
        &self,
        data_len: u32,
        ack_len: u32,
        seed: u64,
        path_index: u64,
        links: &mut (Link, Link),
    ) -> Result<(), Error> {
        self.refuse_driven()?;
        let (forward, reverse) = self.directions(data_len, ack_len)?;
        forward.link_into(seed, path_index, &mut links.0);
        reverse.link_into(seed, path_index, &mut links.1);
        Ok(())
    }

    /// Both directions of any path, at time zero.
    pub fn open_driven(
        &self,
        data_len: u32,
        ack_len: u32,
        seed: u64,
        path_index: u64,
    ) -> Result<(Forward, Reverse), Error> {
        let (forward, _) = self.directions(data_len, ack_len)?;
        let Some(there) = ForwardPath::new(forward.rich(), seed, path_index) else {
            let (there, back) = self.open(data_len, ack_len, seed, path_index)?;
            return Ok((Forward::Link(there), back));
        };
        // The return path is independent of these effects.
        let effects = Effects { aqm: None, ecn: None, ..*self.effects() };
        let (_, back) =
            self.clone().with_effects(effects).open(data_len, ack_len, seed, path_index)?;
        Ok((Forward::Driven(Box::new(there)), back))
    }

    /// The forward link and the return path, at time zero, of a path whose forward queue decides at
    /// the offer ([`crate::Aqm::is_driven`]).
    pub fn open(
        &self,
        data_len: u32,
        ack_len: u32,
        seed: u64,
        path_index: u64,
    ) -> Result<(Link, Reverse), Error> {
        self.refuse_late_queue()?;
        let (forward, mut reverse) = self.directions(data_len, ack_len)?;
        let there = forward.link(seed, path_index);
        if !self.is_driven() {
            return Ok((there, Reverse::Link(reverse.link(seed, path_index))));
        }
        // The engine stands between the bottleneck and the propagation.
        let propagation = std::mem::take(&mut reverse.propagation);
        let link = reverse.link(seed, path_index);
        let rate = reverse.rate.bps();
        Ok((
            there,
            Reverse::Driven(Box::new(ReturnPath::new(
                self,
                link,
                rate,
                propagation,
                seed,
                path_index,
            ))),
        ))
    }

    /// Ordinals of the packets, among the first `count` of a trial with these draws, that the
    /// forward direction loses independently of its queue (independent losses, bursts, every n-th
    /// packet). The trial is the same on any two paths that differ only in these losses and lose
    /// the same packets.
    ///
    /// # Errors
    /// If the path is invalid, or if its losses end at a time: then ordinals do not determine them.
    pub fn falls(
        &self,
        seed: u64,
        path_index: u64,
        count: u64,
    ) -> Result<impl Iterator<Item = u64> + use<>, Error> {
        let (forward, _) = self.directions(0, 0)?;
        let rich::Settings { loss_ppb, effects, .. } = forward.rich();
        if let Some(end) = effects.loss_until {
            return Err(Error::at(
                "loss_until",
                &value::print_time(end),
                "which packets are lost depends on when they are sent",
                "losses that do not end",
            ));
        }
        let draws = Stream::new(seed, path_index, forward.way.purposes().1);
        let mut losses = Losses::new(loss_ppb, &effects, draws);
        Ok((0..count).filter(move |ordinal| losses.falls(0, *ordinal)))
    }

    /// Ordinals and extra delays (ns) of the packets, among the first `count` of a trial with these
    /// draws, that other packets overtake in the forward direction. The trial is the same on any
    /// two paths that differ only in reordering and delay the same packets by the same times.
    pub fn overtaken(
        &self,
        seed: u64,
        path_index: u64,
        count: u64,
    ) -> Result<impl Iterator<Item = (u64, u64)> + use<>, Error> {
        let settings = self.directions(0, 0)?.0.rich();
        let (reorder, draws) = (settings.effects.reorder, settings.delays(seed, path_index));
        let ordinals = 0..if reorder.is_some() { count } else { 0 };
        Ok(ordinals
            .filter_map(move |ordinal| Some((ordinal, rich::overtaken(reorder?, draws, ordinal)?))))
    }

    fn refuse_late_queue(&self) -> Result<(), Error> {
        match self.effects().aqm {
            Some(aqm) if aqm.is_driven() => Err(Error::new(format!(
                "{self}: its queue chooses among flows when the link is free, which only the simulator does"
            ))),
            _ => Ok(()),
        }
    }

    fn refuse_driven(&self) -> Result<(), Error> {
        self.refuse_late_queue()?;
        if !self.is_driven() {
            return Ok(());
        }
        Err(Error::new(format!(
            "{self}: decides about ACKs after they are sent, which a plain reverse link cannot; open the path instead"
        )))
    }

    fn directions(
        &self,
        data_len: u32,
        ack_len: u32,
    ) -> Result<(Direction<'_>, Direction<'_>), Error> {
        self.check()?;
        if let Some(mtu) = self.mtu().filter(|mtu| u64::from(data_len) > *mtu) {
            return Err(Error::at(
                "mtu",
                &value::print_size(mtu),
                format!("is less than the packets of {data_len} B that the hosts send"),
                format!("{data_len}B or more"),
            ));
        }
        let [before, behind, back] = self.propagation(u64::from(data_len), u64::from(ack_len))?;
        let handover =
            if let Release::Handover(handover) = self.release() { Some(*handover) } else { None };
        let forward = Direction {
            way: Way::Forward,
            rate: Cow::Borrowed(self.rate()),
            before,
            propagation: behind,
            capacity: self.queue_bytes().unwrap_or(u64::MAX),
            loss_ppb: self.loss_ppb(),
            effects: *self.effects(),
            overhead: self.overhead() as u32,
            rtt: self.rtt(),
            packet: self.packet(),
            handover,
        };
        let reverse = Direction {
            way: Way::Reverse,
            rate: self.up_rate(),
            before: 0,
            propagation: back,
            capacity: self.up_queue_bytes().unwrap_or(u64::MAX),
            loss_ppb: self.up_loss_ppb(),
            effects: *self.up_effects(),
            ..forward.clone()
        };
        Ok((forward, reverse))
    }
}

/// The parts of one link.
#[derive(Clone)]
struct Direction<'a> {
    way: Way,
    rate: Cow<'a, Rate>,
    before: u64,
    propagation: u64,
    capacity: u64,
    loss_ppb: u64,
    effects: Effects,
    overhead: u32,
    rtt: u64,
    packet: u64,
    handover: Option<HandoverSettings>,
}

impl Direction<'_> {
    /// The settings of a plain link; `None` if the direction needs more.
    fn plain(&self) -> Option<plain::Settings> {
        let Rate::Constant(rate) = *self.rate else { return None };
        let more = self.effects != Effects::default()
            || self.before != 0
            || self.overhead != 0
            || self.handover.is_some();
        let (_, loss_purpose) = self.way.purposes();
        let Self { propagation, capacity, loss_ppb, .. } = *self;
        (!more).then_some(plain::Settings { rate, propagation, capacity, loss_ppb, loss_purpose })
    }

    fn rich(&self) -> rich::Settings {
        let mark_bytes = match self.effects.ecn {
            Some(Ecn::Above(Queue::Time(_))) => None,
            Some(Ecn::Above(queue)) => queue.bytes_of(self.packet, self.rate.bps(), self.rtt),
            _ => None,
        };
        rich::Settings {
            way: self.way,
            rate: self.rate.clone().into_owned(),
            before: self.before,
            propagation: self.propagation,
            overhead: self.overhead,
            capacity: self.capacity,
            loss_ppb: self.loss_ppb,
            effects: self.effects,
            handover: self.handover,
            mark_bytes,
        }
    }

    fn link(&self, seed: u64, path_index: u64) -> Link {
        Link::new(match self.plain() {
            Some(settings) => Kind::Plain(Plain::new(settings, seed, path_index)),
            None => Kind::Rich(Box::new(Rich::new(self.rich(), seed, path_index))),
        })
    }

    fn link_into(&self, seed: u64, path_index: u64, link: &mut Link) {
        match (self.plain(), link.kind_mut()) {
            (Some(settings), Kind::Plain(plain)) => plain.rebuild(settings, seed, path_index),
            (_, kind) => *kind = self.link(seed, path_index).into_kind(),
        }
    }
}
