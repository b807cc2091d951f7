//! The file of a trained policy: a small network of integers.
//!
//! A layer has a row of weights (8 bits) and a bias (32 bits) for each of its outputs. An output is
//! the sum of the weighted inputs and the bias, shifted right by `shift` bits. Outputs of hidden
//! layers are cut to 0 to [`MOST`], those of the last layer to -64 to 64, in units of 1/64. There
//! are no other numbers, so that a policy decides alike on every machine.

use super::course::{Action, Course};
use super::watch::{FEATURES, MOST, ONE, Observation};
use firstflight_path::{Error, input};
use serde::Deserialize;

/// Largest file, bytes.
pub const MOST_BYTES: u64 = 1 << 20;
/// Most layers, and most outputs of a layer.
const MOST_LAYERS: usize = 4;
const WIDEST: usize = 64;
/// Largest shift, bits; and largest bias, so that no sum overflows 32 bits.
const MOST_SHIFT: u32 = 24;
const MOST_BIAS: i32 = 1 << 24;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Version of the format.
    firstflight_policy: u32,
    acts: String,
    control: String,
    step: String,
    layers: Vec<Rows>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    weights: Vec<Vec<i8>>,
    bias: Vec<i32>,
    shift: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Layer {
    inputs: usize,
    /// Row by row.
    weights: Vec<i8>,
    bias: Vec<i32>,
    shift: u32,
}

/// A trained policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The setting that it was trained for.
    pub course: Course,
    layers: Vec<Layer>,
    /// Of the text of its file.
    sum: u64,
}

/// Before the sum in the full name of an arm.
const SUM: &str = ",sum=";

impl Policy {
    /// Reads the file of a policy; `named` is its name, or `NAME,sum=SUM` with the sum that its
    /// content must have. Returns the second form, too: the name of an arm says what decides, so that
    /// results of two policies are never merged.
    ///
    /// # Errors
    /// A one-line message with the file's name.
    pub fn read(named: &str) -> Result<(Policy, String), Error> {
        let (name, sum) = named.split_once(SUM).map_or((named, None), |(n, sum)| (n, Some(sum)));
        let failed = |why: &str| Error::new(format!("policy {name}: {why}"));
        let text = input::read_text(&input::file_of(name), MOST_BYTES)
            .map_err(|error| failed(&error.to_string()))?;
        let policy = Policy::parse(&text).map_err(|error| failed(error.as_str()))?;
        let found = format!("{:016x}", policy.sum);
        match sum {
            Some(sum) if sum != found => {
                Err(failed(&format!("its sum is {found}, not {sum}: the file has changed")))
            }
            _ => Ok((policy, format!("{name}{SUM}{found}"))),
        }
    }

    /// Reads a policy from the text of its file (JSON).
    ///
    /// # Errors
    /// A one-line message: not JSON, an unknown or missing key, or numbers that do not fit together.
    pub fn parse(text: &str) -> Result<Policy, Error> {
        let file: File =
            serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))?;
        if file.firstflight_policy != 1 {
            let version = file.firstflight_policy;
            return Err(Error::new(format!("firstflight_policy {version}: allowed: 1")));
        }
        let course = Course::parse(&file.acts, &file.control, &file.step)?;
        let count = file.layers.len();
        if !(1..=MOST_LAYERS).contains(&count) {
            return Err(Error::new(format!("{count} layers; allowed: 1 to {MOST_LAYERS}")));
        }
        let mut layers = Vec::with_capacity(count);
        let mut inputs = FEATURES;
        for (number, rows) in (1..).zip(file.layers) {
            let wrong = |why: String| Error::new(format!("layer {number}: {why}"));
            let outputs = rows.weights.len();
            if !(1..=WIDEST).contains(&outputs) {
                return Err(wrong(format!("{outputs} rows of weights; allowed: 1 to {WIDEST}")));
            }
            if rows.bias.len() != outputs {
                return Err(wrong(format!("{} biases for {outputs} rows", rows.bias.len())));
            }
            if let Some(row) = rows.weights.iter().find(|row| row.len() != inputs) {
                return Err(wrong(format!("{} weights in a row for {inputs} inputs", row.len())));
            }
            if let Some(bias) = rows.bias.iter().find(|bias| bias.unsigned_abs() > MOST_BIAS as u32)
            {
                return Err(wrong(format!("bias {bias}; allowed: -{MOST_BIAS} to {MOST_BIAS}")));
            }
            if rows.shift > MOST_SHIFT {
                return Err(wrong(format!("shift {}; allowed: 0 to {MOST_SHIFT}", rows.shift)));
            }
            let (bias, shift) = (rows.bias, rows.shift);
            layers.push(Layer { inputs, weights: rows.weights.concat(), bias, shift });
            inputs = outputs;
        }
        if inputs != course.values() {
            let values = course.values();
            return Err(Error::new(format!(
                "layer {count}: {inputs} outputs; a decision of this policy has {values}"
            )));
        }
        // FNV-1a.
        let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Ok(Policy { course, layers, sum })
    }

    /// The decision for an observation.
    pub fn decide(&self, seen: &Observation) -> Action {
        let (mut before, mut after) = ([0; WIDEST], [0; WIDEST]);
        before[..FEATURES].copy_from_slice(seen);
        for (number, layer) in (1..).zip(&self.layers) {
            let (least, most) = if number == self.layers.len() { (-ONE, ONE) } else { (0, MOST) };
            let rows = layer.weights.chunks_exact(layer.inputs).zip(&layer.bias);
            for ((weights, bias), output) in rows.zip(&mut after) {
                let products = weights.iter().zip(&before).map(|(w, x)| i32::from(*w) * x);
                *output = ((products.sum::<i32>() + bias) >> layer.shift).clamp(least, most);
            }
            before = after;
        }
        let leave = self.course.values() == 2 && before[1] > 0;
        Action { value: before[0], leave }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(layers: &str) -> String {
        format!(
            r#"{{"firstflight_policy":1,"acts":"startup","control":"growth","step":"rtt","layers":[{layers}]}}"#
        )
    }

    fn layer(rows: usize, inputs: usize, shift: u32) -> String {
        format!(
            r#"{{"weights":{:?},"bias":{:?},"shift":{shift}}}"#,
            vec![vec![1; inputs]; rows],
            vec![0; rows]
        )
    }

    #[test]
    fn a_decision_is_the_network_in_integers() {
        let one = r#"{"weights":[[2,0,0,0,0,0,0,0,0,0,0,-3]],"bias":[17],"shift":2}"#;
        let policy = Policy::parse(&text(one)).expect("a policy");
        let mut seen = [0; FEATURES];
        (seen[0], seen[11]) = (50, 20);
        // (2 * 50 - 3 * 20 + 17) >> 2
        assert_eq!(policy.decide(&seen), Action { value: 14, leave: false });
        seen[11] = MOST;
        assert_eq!(policy.decide(&seen).value, -ONE, "a decision is cut to -1");
        let two = format!("{},{}", one, r#"{"weights":[[-1]],"bias":[5],"shift":0}"#);
        let policy = Policy::parse(&text(&two)).expect("a policy");
        assert_eq!(policy.decide(&seen).value, 5, "a hidden output is cut to 0");
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let most = |inputs: usize| {
            format!(
                r#"{{"weights":{:?},"bias":{:?},"shift":0}}"#,
                vec![vec![127; inputs]; WIDEST],
                vec![MOST_BIAS; WIDEST]
            )
        };
        let last = r#"{"weights":[W],"bias":[-16777216],"shift":24}"#
            .replace('W', &format!("{:?}", vec![-128; WIDEST]));
        let layers = format!("{},{},{last}", most(FEATURES), most(WIDEST));
        let policy = Policy::parse(&text(&layers)).expect("a policy");
        assert_eq!(policy.decide(&[MOST; FEATURES]).value, -2);
    }

    #[test]
    fn a_file_that_is_no_policy_is_refused_in_one_line() {
        let good = text(&layer(1, FEATURES, 6));
        assert!(Policy::parse(&good).is_ok(), "{good}");
        let cases = [
            (String::new(), "EOF while parsing"),
            ("[".repeat(100_000), "invalid type: sequence"),
            (good.replace(":1,\"acts", ":2,\"acts"), "firstflight_policy 2: allowed: 1"),
            (good.replace("growth", "growht"), "did you mean `growth`?"),
            (good.replace("\"step\"", "\"steps\""), "unknown field"),
            (good.replace("[[1", "[[1.5"), "expected i8"),
            (good.replace("[[1", "[[128"), "expected i8"),
            (text(""), "0 layers; allowed: 1 to 4"),
            (text(&layer(1, 3, 6)), "layer 1: 3 weights in a row for 12 inputs"),
            (text(&layer(0, 0, 6)), "layer 1: 0 rows of weights"),
            (text(&layer(65, FEATURES, 6)), "layer 1: 65 rows of weights; allowed: 1 to 64"),
            (text(&layer(1, FEATURES, 25)), "shift 25; allowed: 0 to 24"),
            (text(&layer(2, FEATURES, 6)), "layer 1: 2 outputs; a decision of this policy has 1"),
            (good.replace("\"bias\":[0]", "\"bias\":[0,0]"), "2 biases for 1 rows"),
            (good.replace("\"bias\":[0]", "\"bias\":[-2147483648]"), "bias -2147483648; allowed"),
        ];
        for (given, expected) in cases {
            let error =
                Policy::parse(&given).expect_err(&given[..given.len().min(200)]).to_string();
            assert!(error.contains(expected), "expected `{expected}`: {error}");
            assert!(!error.contains('\n'), "one line: {error}");
        }
    }
}
