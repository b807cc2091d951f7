//! The reports of a field test's programs on a connection: a record (`struct told` of
//! `bpf/field.bpf.c`), and the table entry of an open connection (`struct flow` of `bpf/field.h`).

use super::closed::{self, Closed, begun};
use super::members::Members;
use firstflight_trial::row::Row;

/// Bytes of `struct flow`.
const FLOW: usize = 80;

/// The identity of a connection, and its assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    /// Number of the connection, counted from 0 in the order of their start.
    pub(super) connection: u32,
    /// Index of its arm.
    pub(super) arm: usize,
    pub(super) epoch: u16,
    /// A pseudonym, or the time slot in which it began.
    pub(super) unit: u64,
    /// Start, us on the kernel's monotonic clock.
    pub(super) start: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) drawn: Drawn,
    /// Time of the record, us on the kernel's monotonic clock.
    pub(super) at: u64,
    /// Address of its socket in the kernel's memory, as in the reports of arms.
    pub(super) socket: u64,
    /// Whether the connection is still open.
    pub(super) going: bool,
    changed: bool,
    closed: Closed,
}

impl Told {
    pub(super) fn parse(bytes: &[u8]) -> Option<Told> {
        let closed = Closed::parse(bytes)?;
        let mut rest = Members(bytes.get(closed::SIZE..closed::SIZE + 24)?);
        let [at, socket] = [(); 2].map(|()| rest.u64());
        let (connection, epoch) = (rest.u32(), rest.u16());
        let [arm, flags] = rest.take();
        let (unit, start) = (closed.unit(), closed.start());
        Some(Told {
            drawn: Drawn { connection, arm: usize::from(arm), epoch, unit, start },
            at,
            socket,
            going: flags & 1 != 0,
            changed: flags & 2 != 0,
            closed,
        })
    }

    /// The complete row except for names.
    pub(super) fn row(&self) -> Row {
        Row { changed: Some(self.changed), ..self.closed.row() }
    }

    /// A record without data, for tests.
    #[cfg(test)]
    pub(super) fn of(connection: u32, going: bool, start: u64) -> Told {
        let mut bytes = Closed::bytes(start).to_vec();
        bytes.extend(9_u64.to_ne_bytes());
        bytes.extend(7_u64.to_ne_bytes());
        bytes.extend(connection.to_ne_bytes());
        bytes.extend([0, 0, 1, u8::from(going)]);
        Told::parse(&bytes).expect("a record")
    }
}

/// An open connection, as stored in its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) drawn: Drawn,
    handshake: u32,
}

impl Open {
    /// Parses the entry; `None` if it is empty or its connection has no number yet.
    pub(super) fn parse(bytes: &[u8]) -> Option<Open> {
        let mut entry = Members(bytes.get(..FLOW)?);
        let [cookie, start, _busy, _since, unit] = [(); 5].map(|()| entry.u64());
        let [_first_seq, handshake] = [(); 2].map(|()| entry.u32());
        let [_controller, _told] = [(); 2].map(|()| entry.u64());
        let number = entry.u32();
        let [arm, epoch] = [(); 2].map(|()| entry.u16());
        let connection = number.checked_sub(1).filter(|_| cookie != 0)?;
        let drawn = Drawn { connection, arm: usize::from(arm), epoch, unit, start };
        Some(Open { drawn, handshake })
    }

    /// All connections in a table of entries.
    pub(super) fn all(table: &[u8]) -> impl Iterator<Item = Open> {
        table.chunks_exact(FLOW).filter_map(Open::parse)
    }

    /// Its row if there is no record yet.
    pub(super) fn row(&self) -> Row {
        begun(self.drawn.start, self.drawn.unit, self.handshake)
    }

    /// For tests.
    #[cfg(test)]
    pub(super) fn of(connection: u32, start: u64) -> Open {
        let drawn = Drawn { connection, arm: 0, epoch: 0, unit: 1, start };
        Open { drawn, handshake: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(cookie: u64, number: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [cookie, 1_000_000, 0, 0, 0xabc] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(5_u32.to_ne_bytes());
        bytes.extend(20_000_u32.to_ne_bytes());
        bytes.extend([0; 16]);
        bytes.extend(number.to_ne_bytes());
        bytes.extend([2_u16, 3].map(u16::to_ne_bytes).concat());
        bytes.resize(FLOW, 0);
        bytes
    }

    #[test]
    fn a_table_of_entries_has_those_that_are_there_and_have_their_number() {
        let table = [entry(0, 0), entry(9, 5), entry(10, 0), entry(0, 4), entry(11, 7)].concat();
        let open: Vec<Open> = Open::all(&table).collect();
        let numbers: Vec<u32> = open.iter().map(|one| one.drawn.connection).collect();
        assert_eq!(numbers, [4, 6], "counted from 0");
        assert_eq!((open[0].drawn.arm, open[0].drawn.epoch, open[0].drawn.unit), (2, 3, 0xabc));
        assert_eq!(open[0].row().handshake_rtt_ms, Some(20.0));
        assert!(open[0].row().bytes_acked.is_none(), "what was not told is not known");
    }

    #[test]
    fn a_record_says_of_whom_it_is_and_whether_it_goes_on() {
        let told = Told::of(4, true, 3);
        assert_eq!((told.drawn.connection, told.drawn.arm, told.drawn.start), (4, 1, 3));
        assert_eq!((told.at, told.socket, told.going, told.changed), (9, 7, true, false));
        assert!(!Told::of(4, false, 3).going);
        assert!(Told::parse(&[0; 103]).is_none(), "cut");
    }
}
