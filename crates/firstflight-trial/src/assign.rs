//! Assignment of arms to new connections.
//!
//! The hash of a unit under a secret key is a number from 0 to 1, the same every time. Of k arms,
//! with the baseline as arm 0, arm i holds an interval that starts at i/k and extends at most to
//! (i+1)/k; the baseline gets the rest. So a share that grows takes only from the baseline, and one
//! that shrinks gives only to it: no unit moves from one treatment to another.

use siphasher::sip::SipHasher24;
use std::fmt;
use std::hash::Hasher;
use std::net::{IpAddr, Ipv6Addr};

/// Length of the IPv4 prefix that counts as one client.
pub const PREFIX_V4: u8 = 24;
/// Length of the IPv6 prefix that counts as one client. Homes have a /56 or a shorter prefix
/// (RIPE-690).
pub const PREFIX_V6: u8 = 56;

/// Number of bits in which hashes are compared, so that limits are exact and the same in BPF.
const BITS: u32 = 32;
const WHOLE: u64 = 1 << BITS;

/// 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

/// Prevents that a key is printed by accident.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    fn hash(&self, purpose: u8, unit: &Unit) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&[purpose]);
        hasher.write(unit.bytes());
        hasher.finish()
    }
}

/// Unit of assignment: all connections of a unit get one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    bytes: [u8; 17],
    len: u8,
}

impl Unit {
    /// A connection, by a unique number: a socket cookie or a counter.
    pub fn connection(number: u64) -> Unit {
        Unit::of(0, &number.to_le_bytes())
    }

    /// A pair of time slots, by its number.
    pub fn pair(number: u64) -> Unit {
        Unit::of(1, &number.to_le_bytes())
    }

    /// A client, by its network: [`PREFIX_V4`] or [`PREFIX_V6`] bits of its address.
    pub fn client(address: IpAddr) -> Unit {
        Unit::client_within(address, PREFIX_V4, PREFIX_V6)
    }

    /// A client, by this many bits of its IPv4 (0 to 32) or IPv6 address (0 to 128). An IPv4
    /// address inside an IPv6 one counts as IPv4. A home that uses both may be two units.
    pub fn client_within(address: IpAddr, v4: u8, v6: u8) -> Unit {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let keep = u32::MAX.checked_shl(32 - u32::from(v4.min(32))).unwrap_or(0);
                Unit::of(4, &(address.to_bits() & keep).to_be_bytes())
            }
            IpAddr::V6(address) => {
                let keep = u128::MAX.checked_shl(128 - u32::from(v6.min(128))).unwrap_or(0);
                Unit::of(6, &Ipv6Addr::from_bits(address.to_bits() & keep).octets())
            }
        }
    }

    fn of(kind: u8, raw: &[u8]) -> Unit {
        let mut bytes = [0; 17];
        bytes[0] = kind;
        bytes[1..=raw.len()].copy_from_slice(raw);
        Unit { bytes, len: raw.len() as u8 + 1 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// An arm and the part of all units that it should get.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The arm's name.
    pub arm: String,
    /// Its share, from 0 to 1.
    pub part: f64,
}

impl Share {
    /// A share.
    pub fn of(arm: impl Into<String>, part: f64) -> Share {
        Share { arm: arm.into(), part }
    }
}

/// Name of an arm without its label: `kernel:cubic#2` is `kernel:cubic`. With labels, one
/// controller can be several arms, which should then show no difference (A/A).
pub fn controller(arm: &str) -> &str {
    arm.split_once('#').map_or(arm, |(controller, _)| controller)
}

/// Why shares are refused: a one-line message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Draws arms.
#[derive(Clone, Debug)]
pub struct Assignment {
    key: Key,
    names: Vec<String>,
    /// Start of the range reserved for each arm except the baseline, in hashes; and the end of the
    /// last range.
    rooms: Vec<u64>,
    /// Start and end of the hashes that each of these arms holds in its range.
    ranges: Vec<(u64, u64)>,
    epoch: u32,
}

impl Assignment {
    /// The first arm is the baseline. Parts must add up to 1; with k arms, each except the baseline
    /// may get at most 1/k.
    ///
    /// # Errors
    /// A one-line message: fewer than two arms, an arm named twice, or parts that do not add up or
    /// are too large.
    pub fn new(key: Key, shares: &[Share]) -> Result<Assignment, Error> {
        Assignment::of(key, shares, equal_rooms(shares.len()))
    }

    /// Like [`Assignment::new`], but with explicit limits: the largest share that each arm named in
    /// `limits` may ever get. Any other arm may get at most 1/k, where k is the number of arms.
    /// Limits are fixed at the start, because they determine where the arms' ranges start.
    ///
    /// # Errors
    /// Like [`Assignment::new`], and a one-line message for limits of unknown arms or of the
    /// baseline, or limits that add up to more than 1.
    pub fn within(key: Key, shares: &[Share], limits: &[Share]) -> Result<Assignment, Error> {
        Assignment::of(key, shares, rooms(shares, limits)?)
    }

    fn of(key: Key, shares: &[Share], rooms: Vec<u64>) -> Result<Assignment, Error> {
        let names: Vec<String> = shares.iter().map(|share| share.arm.clone()).collect();
        let ranges = ranges(shares, &rooms)?;
        Ok(Assignment { key, names, rooms, ranges, epoch: 0 })
    }

    /// Changes the parts of the same arms, and starts a new epoch.
    ///
    /// # Errors
    /// Like [`Assignment::new`], and a one-line message for other arms.
    pub fn reshare(&mut self, shares: &[Share]) -> Result<(), Error> {
        if !self.names.iter().eq(shares.iter().map(|share| &share.arm)) {
            return Err(Error(format!(
                "the arms of a trial cannot change: {}",
                self.names.join(", ")
            )));
        }
        self.ranges = ranges(shares, &self.rooms)?;
        self.epoch += 1;
        Ok(())
    }

    /// The index of this unit's arm; 0 is the baseline.
    pub fn arm(&self, unit: &Unit) -> usize {
        let hash = self.key.hash(b'a', unit) >> (64 - BITS);
        let held = self.ranges.iter().position(|(from, to)| (*from..*to).contains(&hash));
        held.map_or(0, |index| index + 1)
    }

    /// The arm of a time slot, counted from 0, in a trial of two arms: slots come in pairs, one per
    /// arm in random order.
    pub fn arm_of_slot(&self, slot: u64) -> usize {
        let first = self.key.hash(b'a', &Unit::pair(slot / 2)) >> 63;
        (first ^ (slot & 1)) as usize
    }

    /// Whether this unit is enrolled, if the share `part` of all units is. Drawn by another hash,
    /// before the arm: a unit that is not enrolled is in no arm, not even the baseline.
    pub fn enrols(&self, unit: &Unit, part: f64) -> bool {
        (self.key.hash(b'e', unit) >> (64 - BITS)) < hashes(part)
    }

    /// The arms' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Start and end of the hashes that each arm except the baseline holds, out of 2^32. The hash
    /// of [`Assignment::arm`] is the upper half of SipHash-2-4 of `a`, then the unit's kind (0, 1,
    /// 4 or 6) and bytes. For draws in places where this code cannot run.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Number of times the shares have changed so far.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }
}

/// Number of hashes out of 2^32 that correspond to this part, as [`Assignment::enrols`] draws.
pub fn hashes(part: f64) -> u64 {
    (part.clamp(0.0, 1.0) * WHOLE as f64).round() as u64
}

/// Starts of the arms' ranges if each may get 1/k.
fn equal_rooms(k: usize) -> Vec<u64> {
    (1..=k as u64).map(|arm| (arm * WHOLE).div_ceil(k as u64)).collect()
}

/// Starts of the arms' ranges with these limits, from the last arm down.
fn rooms(shares: &[Share], limits: &[Share]) -> Result<Vec<u64>, Error> {
    let Some((baseline, others)) = shares.split_first() else { return Ok(Vec::new()) };
    if limits.is_empty() {
        return Ok(equal_rooms(shares.len()));
    }
    for limit in limits {
        if limit.arm == baseline.arm || others.iter().all(|share| share.arm != limit.arm) {
            let known: Vec<&str> = others.iter().map(|share| share.arm.as_str()).collect();
            let told = format!("{}: limits are for {}", limit.arm, known.join(", "));
            return Err(Error(told));
        }
    }
    let equal = 1.0 / shares.len() as f64;
    let of = |share: &Share| {
        limits.iter().find(|limit| limit.arm == share.arm).map_or(equal, |limit| limit.part)
    };
    let sum: f64 = others.iter().map(of).sum();
    if sum > 1.0 + 1e-9 {
        return Err(Error(format!("the largest shares add up to {}", percent(sum))));
    }
    let mut rooms = vec![WHOLE];
    for share in others.iter().rev() {
        let end = rooms.last().copied().unwrap_or(WHOLE);
        rooms.push(end.saturating_sub(hashes(of(share))));
    }
    rooms.reverse();
    Ok(rooms)
}

/// The hashes that each arm except the first holds.
fn ranges(shares: &[Share], rooms: &[u64]) -> Result<Vec<(u64, u64)>, Error> {
    whole(shares)?;
    let mut ranges = Vec::new();
    for (share, room) in shares[1..].iter().zip(rooms.windows(2)) {
        let most = (room[1] - room[0]) as f64 / WHOLE as f64;
        // Ranges are rounded to whole hashes.
        if share.part > most + 1e-9 {
            return Err(Error(format!(
                "{}={}: allowed: more than 0 and at most {} with {} arms",
                share.arm,
                percent(share.part),
                percent(most),
                shares.len()
            )));
        }
        ranges.push((room[0], (room[0] + hashes(share.part)).min(room[1])));
    }
    Ok(ranges)
}

/// At most four decimals.
fn percent(part: f64) -> String {
    let text = format!("{:.4}", 100.0 * part);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Checks the parts: at least two arms, each named once, each with more than zero, with a sum of 1.
fn whole(shares: &[Share]) -> Result<(), Error> {
    if shares.len() < 2 {
        return Err(Error("a trial has a baseline and at least one other arm".to_owned()));
    }
    for (index, share) in shares.iter().enumerate() {
        if shares[..index].iter().any(|other| other.arm == share.arm) {
            return Err(Error(format!("{}: named twice", share.arm)));
        }
        if !(share.part > 0.0 && share.part <= 1.0 + 1e-9) {
            let told = "allowed: more than 0 and at most 100%";
            let told = format!("{}={}: {told}", share.arm, percent(share.part));
            return Err(Error(told));
        }
    }
    let sum: f64 = shares.iter().map(|share| share.part).sum();
    if (sum - 1.0).abs() > 1e-6 {
        return Err(Error(format!("the shares add up to {}, not to 100%", percent(sum))));
    }
    Ok(())
}

/// Reads shares in the form of a command line: `slowstart,rapid=20%`. The first arm is the baseline
/// and gets the rest. If no arm has a share, all shares are equal. Commas and signs inside
/// parentheses belong to an arm. [`Assignment`] checks how large a share may be.
///
/// # Errors
/// A one-line message if the text cannot be parsed.
pub fn shares(text: &str) -> Result<Vec<Share>, Error> {
    let read = listed(text)?;
    let given: f64 = read.iter().filter_map(|(_, part)| *part).sum();
    let without = read.iter().filter(|(_, part)| part.is_none()).count();
    if without > 1 && without < read.len() {
        let told = "only the first arm, the baseline, may omit its share";
        return Err(Error(format!("`{text}`: {told}, or all of them")));
    }
    if given > 1.0 + 1e-9 {
        return Err(Error(format!("the shares add up to {}, more than 100%", percent(given))));
    }
    let rest = (1.0 - given) / without.max(1) as f64;
    let share = |(arm, part): (String, Option<f64>)| Share::of(arm, part.unwrap_or(rest));
    let all: Vec<Share> = read.into_iter().map(share).collect();
    whole(&all)?;
    Ok(all)
}

/// Reads the largest shares that arms may get: `rapid=80%`.
///
/// # Errors
/// A one-line message if the text cannot be parsed.
pub fn limits(text: &str) -> Result<Vec<Share>, Error> {
    let known = |(arm, part): (String, Option<f64>)| match part {
        Some(part) if part > 0.0 && part <= 1.0 => Ok(Share::of(arm, part)),
        _ => Err(Error(format!("{arm}: allowed: ARM=SHARE, more than 0 and at most 100%"))),
    };
    listed(text)?.into_iter().map(known).collect()
}

/// Reads arms without shares: `hystart++,search(exit=none)`.
///
/// # Errors
/// A one-line message if the text cannot be parsed.
pub fn names(text: &str) -> Result<Vec<String>, Error> {
    let arms = outside(text, ',').into_iter().map(|arm| arm.trim().to_owned());
    let arms: Vec<String> = arms.collect();
    if arms.iter().any(String::is_empty) {
        return Err(Error(format!("`{text}`: an arm is missing")));
    }
    Ok(arms)
}

/// Reads a part of a whole: `20%` or `0.2`.
pub fn part(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
    let number = digits.trim().parse::<f64>().ok().filter(|part| part.is_finite());
    number.map(|part| part * scale)
}

/// Arms with or without a share.
fn listed(text: &str) -> Result<Vec<(String, Option<f64>)>, Error> {
    let read = |piece: &&str| -> Result<(String, Option<f64>), Error> {
        let (arm, share) = match outside(piece, '=').as_slice() {
            [arm] => (*arm, None),
            [arm, share] => (*arm, Some(*share)),
            _ => return Err(Error(format!("{piece}: allowed: ARM or ARM=SHARE, as rapid=20%"))),
        };
        let number = share.map(|share| {
            part(share).ok_or_else(|| {
                Error(format!("{piece}: `{share}` is not a share, such as 20% or 0.2"))
            })
        });
        match arm.trim() {
            "" => Err(Error(format!("`{text}`: an arm is missing"))),
            arm => Ok((arm.to_owned(), number.transpose()?)),
        }
    };
    outside(text, ',').iter().map(read).collect()
}

/// The pieces of `text` separated by `by` outside parentheses.
fn outside(text: &str, by: char) -> Vec<&str> {
    let (mut depth, mut from, mut pieces) = (0_i32, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            letter if letter == by && depth == 0 => {
                pieces.push(&text[from..at]);
                from = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(&text[from..]);
    pieces
}

/// Names for units that reveal nothing about them: a hash under a separate key, which is never
/// shown. With a known key, all 2^24 IPv4 networks could be tried in a second.
#[derive(Clone, Debug)]
pub struct Pseudonyms(Key);

impl Pseudonyms {
    /// Pseudonyms with this key, which must not be the key of the assignment.
    pub fn new(key: Key) -> Pseudonyms {
        Pseudonyms(key)
    }

    /// The name of a unit: 16 hexadecimal digits.
    pub fn name(&self, unit: &Unit) -> String {
        format!("{:016x}", self.0.hash(b'p', unit))
    }
}

#[cfg(test)]
mod tests;
