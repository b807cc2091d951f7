//! Arms as users write them: a label, the sender it stands for, and helpful errors.

use crate::error::nearest;
use crate::learn::{Policy, Steered};
pub use crate::own::ALL;
use crate::own::{Own, OwnPart, OwnStartup, names as own_names};
use crate::programs::Programs;
use crate::stacks::{STACK_ARMS, StackArm};
use firstflight::arm::{
    AVOIDANCES, Arm, ArmError, Part, RECOVERIES, SHORT_NAMES, STARTUPS, SenderParams, split_list,
};
use firstflight::options::OptionDoc;
use firstflight_path::Error;
use std::sync::Arc;

/// The sender.
#[derive(Clone, Debug, PartialEq)]
pub enum Sender {
    /// Our own sender: startup, avoidance, recovery and sender options.
    Arm(Arm),
    /// A controller of the running kernel: `cubic` in `kernel:cubic`.
    Kernel {
        /// Its name.
        name: String,
        /// Options of the socket, `maxrate` and `rtomax`: `kernel:cubic@(maxrate=20Mbit)`.
        socket: Box<SenderParams>,
    },
    /// A controller of a QUIC stack, run on that stack.
    Stack(&'static StackArm),
    /// External programs at both ends, of which only the arriving data are observed.
    Programs(Programs),
    /// One of our arms with user-defined parts.
    Own {
        /// The user-defined parts.
        own: Box<Own>,
        /// The remaining parts, and sender options. The parts that `own` replaces never run.
        rest: Arm,
    },
}

/// A sender with the name it was requested by.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArm {
    /// As typed.
    pub label: String,
    /// The sender that it names.
    pub sender: Sender,
}

impl NamedArm {
    /// The full name: the arm with all options that differ from the defaults, or the controller of
    /// the kernel or stack.
    pub fn full(&self) -> String {
        match &self.sender {
            Sender::Arm(arm) => arm.to_string(),
            Sender::Kernel { name, socket } => kernel_name(name, **socket),
            Sender::Stack(arm) => arm.name.to_owned(),
            Sender::Programs(_) => self.label.clone(),
            Sender::Own { own, rest } => own_names::full(own, &rest.to_string()),
        }
    }

    /// Our parts of the arm, if there are any; with a user-defined startup, the rest of the arm.
    pub fn parts(&self) -> Option<&Arm> {
        match &self.sender {
            Sender::Arm(arm) | Sender::Own { rest: arm, .. } => Some(arm),
            Sender::Kernel { .. } | Sender::Stack(_) | Sender::Programs(_) => None,
        }
    }

    /// True if the arm uses knowledge that no sender has (`oracle`). It is a bound for the other arms
    /// and is not ranked.
    pub fn is_reference(&self) -> bool {
        matches!(&self.sender, Sender::Arm(arm) if arm.startup.is_reference())
    }

    /// The arm, if all of its parts are ours.
    ///
    /// # Errors
    /// A one-line message for a controller of the kernel or of a QUIC stack and for user-defined
    /// parts.
    pub fn arm(&self) -> Result<&Arm, Error> {
        match &self.sender {
            Sender::Arm(arm) => Ok(arm),
            Sender::Kernel { .. } | Sender::Stack(_) | Sender::Programs(_) => Err(self.elsewhere()),
            Sender::Own { .. } => {
                Err(Error::new(format!("arm `{}`: parts of it are not ours", self.label)))
            }
        }
    }

    /// The error that states on which testbed a foreign sender runs.
    pub(crate) fn elsewhere(&self) -> Error {
        let whose = match &self.sender {
            Sender::Stack(_) => "the QUIC stacks' own controllers run on the testbed `quic` only",
            Sender::Programs(_) => "programs run on the testbed `linux` only",
            _ => "the kernel's own controllers run on the testbed `linux` only",
        };
        Error::new(format!("arm `{}`: {whose}", self.label))
    }

    /// Why its rows differ between runs, as a sentence; `None` if they do not.
    pub(crate) fn varies(&self) -> Option<String> {
        let Sender::Stack(stack) = &self.sender else { return None };
        let why = stack.varies?;
        Some(format!("{} is not repeatable: {why}, so no two runs are alike", self.label))
    }

    /// An arm with a user-defined startup; `rest` is the text that follows a startup's name, such
    /// as `/reno/prr@(iw=30)`, or empty.
    ///
    /// # Errors
    /// A one-line message if `rest` is not the rest of an arm.
    pub fn with_own(label: &str, startup: OwnStartup, rest: &str) -> Result<NamedArm, Error> {
        if !(rest.is_empty() || rest.starts_with(['/', '@'])) {
            return Err(Error::new(format!(
                "arm `{label}`: `{rest}` cannot follow a startup; allowed: /avoidance/recovery@(options)"
            )));
        }
        let rest = *parse_arm(&format!("{STAND_IN}{rest}"))?.arm()?;
        let own = Box::new(Own { startup: Some(startup), ..Own::default() });
        Ok(NamedArm { label: label.to_owned(), sender: Sender::Own { own, rest } })
    }
}

/// A controller of the kernel in full.
fn kernel_name(name: &str, socket: SenderParams) -> String {
    // The slow start of an arm stands for the kernel's controller, so that options print alike.
    let arm = Arm::parse(STAND_IN).ok().map(|arm| Arm { sender: socket, ..arm }.to_string());
    let options = arm.as_deref().and_then(|arm| arm.split_once('@')).map(|(_, options)| options);
    options.map_or_else(|| format!("{KERNEL}{name}"), |options| format!("{KERNEL}{name}@{options}"))
}

/// The options of a sender that are not its socket's.
pub(crate) fn without_socket(sender: SenderParams) -> SenderParams {
    firstflight::with!(SenderParams { max_rate: None, rto_max: None, ..sender })
}

/// The options of the socket in `(maxrate=20Mbit)`, the only ones of the kernel's own controllers.
fn socket_options(label: &str, options: &str) -> Result<SenderParams, Error> {
    let sender = Arm::parse(&format!("{STAND_IN}@{options}"))
        .map_err(|error| Error::new(format!("arm `{label}`: {error}")))?
        .sender;
    if without_socket(sender) != SenderParams::default() {
        return Err(Error::new(format!(
            "arm `{label}`: a controller of the kernel takes two sender options: `@(maxrate=20Mbit,rtomax=10s)`"
        )));
    }
    Ok(sender)
}

/// The value for which `arm` with an option such as `k=1/2` equals the plain arm. It is found by
/// trying the words that the option takes, whole numbers up to 1 000, and fractions with
/// denominators up to 100. `None` if none of these is the default.
pub fn default_of(
    doc: &OptionDoc,
    plain: &Arm,
    arm: impl Fn(&str) -> Option<Arm>,
) -> Option<String> {
    let words = doc.values.split([',', ' ', ':', '(', ')']).filter(|word| !word.is_empty());
    let fractions = (2..=100).flat_map(|den| (1..=4 * den).map(move |num| format!("{num}/{den}")));
    let numbers = (0..=1_000).map(|whole: u32| whole.to_string()).chain(fractions);
    let mut values = words.map(str::to_owned).chain(numbers);
    values.find(|value| arm(&format!("{}={value}", doc.key)).as_ref() == Some(plain))
}

/// Startup of the arm where another one runs.
const STAND_IN: &str = "slowstart";

/// Prefix of the kernel's own controllers.
const KERNEL: &str = "kernel:";

/// Prefix of a file that describes external programs.
const PROGRAMS: &str = "program:";

/// The arms that `compare` runs by default.
pub const DEFAULT_ARMS: &str = "slowstart,hystart,hystart++,rapid,plumb,oracle";

/// Reads a comma-separated list of arms; `all` means all startups and short names, each arm
/// once.
///
/// # Errors
/// A one-line message for the first arm that cannot be read, with the nearest known name if there
/// is one, or with a correct form.
pub fn parse_arms(text: &str) -> Result<Vec<NamedArm>, Error> {
    if text.trim() != ALL {
        return split_list(text).map(parse_arm).collect();
    }
    let mut arms: Vec<NamedArm> = Vec::new();
    for name in names() {
        let arm = parse_arm(name)?;
        if arms.iter().all(|known| known.sender != arm.sender) {
            arms.push(arm);
        }
    }
    Ok(arms)
}

/// Names of startups and short names.
fn names() -> impl Iterator<Item = &'static str> {
    let short = SHORT_NAMES.iter().map(|short| short.name);
    STARTUPS.iter().map(|part| part.name).chain(short)
}

/// The arm that was probably meant by an invalid `text`, worded to follow the error.
fn meant(text: &str, error: &ArmError<'_>) -> Option<String> {
    let named = |name: &str| format!(" (did you mean `{name}`?)");
    let of = |name: &str, parts: &'static [Part]| {
        nearest(name, parts.iter().map(|part| part.name)).map(named)
    };
    let lower = |name: &str| name.to_lowercase();
    match *error {
        ArmError::UnknownStartup(name) => {
            let is = |parts: &[Part]| parts.iter().any(|part| part.name == lower(name));
            if is(AVOIDANCES) {
                let arm = format!("slowstart/{}", lower(name));
                return Some(format!(": it is a congestion avoidance; use `{arm}`"));
            }
            if is(RECOVERIES) {
                let arm = format!("slowstart/cubic/{}", lower(name));
                return Some(format!(": it is a recovery; use `{arm}`"));
            }
            let stacks = STACK_ARMS.iter().map(|arm| arm.name);
            let own = own_names::listed().into_iter().map(|(_, name)| name);
            nearest(name, names().chain(stacks).chain(own)).map(named)
        }
        ArmError::UnknownAvoidance(name) => {
            let name = lower(name);
            if STARTUPS.iter().any(|part| part.name == name) {
                return Some(format!(", it is a startup; `{name}` runs it"));
            }
            if RECOVERIES.iter().any(|part| part.name == name) {
                let startup = text.split('/').next().unwrap_or_default();
                return Some(format!(", it is a recovery; use `{startup}/cubic/{name}`"));
            }
            of(&name, AVOIDANCES)
        }
        ArmError::Parentheses(_) if text.contains('@') && !text.contains("@(") => {
            let (arm, options) = text.split_once('@')?;
            Some(format!("; sender options go in parentheses: `{arm}@({options})`"))
        }
        ArmError::UnknownRecovery(name) => of(name, RECOVERIES),
        ArmError::UnknownOption { key, known, .. } => {
            nearest(key, known.iter().map(|doc| doc.key)).map(named)
        }
        _ => None,
    }
}

/// The arm with a sender option moved behind `@`, if that makes it valid.
fn sender_option(text: &str, key: &str) -> Option<String> {
    if SenderParams::DOCS.iter().all(|doc| doc.key != key) {
        return None;
    }
    let begin = text.find(&format!("{key}="))?;
    let length = text[begin..].find([',', ')'])?;
    let option = &text[begin..begin + length];
    let rest = format!("{}{}", &text[..begin], &text[begin + length..]);
    let rest = rest.replace("(,", "(").replace(",,", ",").replace(",)", ")").replace("()", "");
    let arm = match rest.split_once("@(") {
        Some((parts, others)) => format!("{parts}@({option},{others}"),
        None => format!("{rest}@({option})"),
    };
    Arm::parse(&arm).is_ok().then_some(arm)
}

/// Refuses a controller that an existing stack does not have.
fn no_such_controller(label: &str) -> Error {
    if let Some((_, arm)) = label.split_once(':')
        && Arm::parse(arm).is_ok()
    {
        let what = "the stack has no such controller of its own";
        return Error::new(format!(
            "arm `{label}`: {what}; `--on quic --arms {arm}` runs ours in noq"
        ));
    }
    let names = || STACK_ARMS.iter().map(|arm| arm.name);
    let near = nearest(&label.to_lowercase(), names())
        .map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    let known = names().collect::<Vec<_>>().join(", ");
    Error::new(format!("arm `{label}`: no such controller{near}; the stacks have {known}"))
}

/// The arm if `text` names one of these user-defined parts; [`parse_arms`] knows the parts that
/// were [registered](crate::own_parts).
///
/// # Errors
/// A one-line message if the rest of the arm is invalid.
pub fn own_arm(text: &str, parts: &[OwnPart]) -> Option<Result<NamedArm, Error>> {
    let label = text.trim();
    let (own, rest) = own_names::taken_out(label, parts)?;
    let named = parse_arm(&rest).and_then(|rest| {
        let (own, rest) = (Box::new(own), *rest.arm()?);
        Ok(NamedArm { label: label.to_owned(), sender: Sender::Own { own, rest } })
    });
    // The error refers to the arm as it was written.
    Some(named.map_err(|error| Error::new(format!("arm `{label}`: {error}"))))
}

fn parse_arm(text: &str) -> Result<NamedArm, Error> {
    if let Some(own) = own_arm(text, own_names::known()) {
        return own;
    }
    let label = text.trim().to_owned();
    if let Some((file, rest)) = own_names::learned(&label) {
        let (policy, named) = Policy::read(file)?;
        let policy = Arc::new(policy);
        let startup =
            OwnStartup::of(&format!("learned({named})"), move || Steered::by(Arc::clone(&policy)));
        return NamedArm::with_own(&label, startup, rest);
    }
    if let Some(name) = label.strip_prefix(KERNEL) {
        let (name, options) = name.split_once('@').map_or((name, None), |(n, o)| (n, Some(o)));
        let socket = options.map(|options| socket_options(&label, options)).transpose()?;
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            Error::new(format!(
                "arm `{label}`: expected the name of a controller, such as `kernel:cubic`"
            ))
        })?;
        let socket = Box::new(socket.unwrap_or_default());
        return Ok(NamedArm { label, sender: Sender::Kernel { name, socket } });
    }
    if let Some(file) = label.strip_prefix(PROGRAMS) {
        let programs = Programs::read(&firstflight_path::input::file_of(file))?;
        return Ok(NamedArm { label, sender: Sender::Programs(programs) });
    }
    if let Some(arm) = StackArm::find(&label.to_lowercase()) {
        return Ok(NamedArm { label, sender: Sender::Stack(arm) });
    }
    if StackArm::is_meant(&label.to_lowercase()) {
        return Err(no_such_controller(&label));
    }
    match Arm::parse(text) {
        Ok(arm) => Ok(NamedArm { label, sender: Sender::Arm(arm) }),
        Err(error) => {
            let all = "; `firstflight arms` lists all";
            if matches!(error, ArmError::Empty) {
                return Err(Error::new(
                    "an arm is missing; allowed: names with commas between them",
                ));
            }
            if let ArmError::UnknownOption { part, key, .. } = error
                && let Some(arm) = sender_option(text.trim(), key)
            {
                let what = format!("{part} has no option `{key}`, the sender has: `{arm}`{all}");
                return Err(Error::new(what));
            }
            let near = meant(text.trim(), &error);
            Err(Error::new(match near {
                Some(near) => format!("{error}{near}{all}"),
                None if matches!(
                    error,
                    ArmError::UnknownStartup(_)
                        | ArmError::UnknownAvoidance(_)
                        | ArmError::UnknownRecovery(_)
                ) =>
                {
                    format!("{error}{all}")
                }
                None => error.to_string(),
            }))
        }
    }
}
