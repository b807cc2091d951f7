//! Bytes as a capture of well-formed TCP: whatever the numbers, flags and options say, each header
//! is one that a stack could send, and most numbers lie near those before.

/// Bytes of the input that make a segment.
const RECORD: usize = 32;

/// Takes numbers from a record; beyond its end there are zeros.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn half(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Near `number`, or anywhere.
    fn near(&mut self, number: u32) -> u32 {
        match self.byte() {
            0..200 => number,
            200..250 => number.wrapping_add_signed(i32::from(self.half().cast_signed())),
            _ => u32::from(self.half()) << 16 | u32::from(self.half()),
        }
    }
}

/// Options of up to 40 bytes: SACK with any geometry, timestamps, Accurate ECN, those of a SYN,
/// and kinds that nobody knows.
fn options(numbers: &mut Numbers, ack: u32) -> Vec<u8> {
    let mut options: Vec<u8> = Vec::new();
    for _ in 0..numbers.byte() % 5 {
        let mut option = match numbers.byte() % 8 {
            0 | 1 => {
                let mut option = vec![5, 0];
                for _ in 0..=numbers.byte() % 4 {
                    let left = numbers.near(ack);
                    option.extend(left.to_be_bytes());
                    option.extend(numbers.near(left.wrapping_add(1000)).to_be_bytes());
                }
                option
            }
            2 => vec![8, 0, 0, 0, 0, numbers.byte(), 0, 0, 0, numbers.byte()],
            3 => {
                let mut option = vec![[172, 174][usize::from(numbers.byte() & 1)], 0];
                let fields = numbers.byte() % 4;
                (0..3 * fields).for_each(|_| option.push(numbers.byte()));
                option
            }
            4 => vec![2, 0, numbers.byte(), numbers.byte()],
            5 => vec![3, 0, numbers.byte()],
            6 => vec![4, 0],
            _ => {
                let mut option = vec![numbers.byte() | 32, 0];
                option.resize(2 + usize::from(numbers.byte() % 20), 0xff);
                option
            }
        };
        option[1] = option.len() as u8;
        if options.len() + option.len() <= 40 {
            options.extend(option);
        }
    }
    options.resize(options.len().next_multiple_of(4), 1);
    options
}

/// A classic capture of raw IPv4 with nanoseconds.
pub(super) fn capture(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        out.extend(word.to_le_bytes());
    }
    // Sent bytes of each end, and their times.
    let (mut sent, mut now) = ([u32::MAX - 3000, 7_000], 1_000_000_000_u64);
    for record in bytes.chunks(RECORD) {
        let mut numbers = Numbers(record);
        let end = usize::from(numbers.byte() & 1);
        let flags = match numbers.byte() {
            0..160 => 16,
            160..180 => 2,
            180..200 => 18,
            flags => u16::from(flags) | u16::from(numbers.byte() & 1) << 8,
        };
        let (seq, ack) = (numbers.near(sent[end]), numbers.near(sent[1 - end]));
        let payload = match numbers.byte() {
            0..100 => 0,
            100..200 => 1448,
            _ => u32::from(numbers.half()),
        };
        let window = if numbers.byte() < 20 { 0 } else { numbers.half() };
        now += u64::from(numbers.half()) << (numbers.byte() % 20);
        let options = options(&mut numbers, ack);
        sent[end] = seq.wrapping_add(payload);
        let header = 20 + options.len();
        let length = (20 + header as u32 + payload).min(65_535);
        let mut packet = vec![0x45, 0];
        packet.extend((length as u16).to_be_bytes());
        packet.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, end as u8, 10, 0, 0, 1 - end as u8]);
        let ports = [[1, 187, 195, 80], [195, 80, 1, 187]];
        packet.extend(ports[end]);
        packet.extend(seq.to_be_bytes());
        packet.extend(ack.to_be_bytes());
        packet.extend(((header as u16 / 4) << 12 | flags).to_be_bytes());
        packet.extend(window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(options);
        let nanos = (now % 1_000_000_000) as u32;
        for word in [(now / 1_000_000_000) as u32, nanos, packet.len() as u32, length] {
            out.extend(word.to_le_bytes());
        }
        out.extend(packet);
    }
    out
}
