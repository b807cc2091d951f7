//! Populations: the vectors of drawing and of quantile tables, the published quantiles, files that
//! read back, and refusals.

use firstflight_lab::Population;
use firstflight_lab::population::describe::describe;
use firstflight_lab::population::normal::{inverse_normal, normal_cdf, uniform};
use firstflight_lab::population::quantiles::QuantileTable;
use firstflight_lab::population::{Correlation, Setting, Variable, builtin};
use firstflight_path::{Purpose, Stream};
use std::sync::atomic::AtomicBool;

fn population(name: &str) -> Population {
    Population::parse(name).unwrap_or_else(|bad| panic!("{name}: {bad}"))
}

#[test]
fn draws_of_seed_1_are_those_of_the_table() {
    let rows = [
        (0, Purpose::Rtt, 0xb57b_946d_e813_49e1_u64, 0.550_223_417_4),
        (1, Purpose::Rtt, 0xaef7_1425_3055_051c, 0.477_389_546_4),
        (0, Purpose::Rate, 0x8a59_da21_4a79_4400, 0.101_525_983_3),
        (1, Purpose::Rate, 0x94ee_9abb_b21d_dd24, 0.206_412_931_1),
        (0, Purpose::Buffer, 0x87db_3903_13aa_fce0, 0.077_001_497_1),
        (1, Purpose::Buffer, 0x591e_3149_9bb3_6ae1, -0.390_409_312_4),
    ];
    for (path, purpose, draw, normal) in rows {
        let x = Stream::new(1, path, purpose).value(0);
        assert_eq!(x, draw, "path {path}, {purpose:?}");
        let z = inverse_normal(uniform(x));
        assert!(
            (z - normal).abs() < 5e-11,
            "path {path}, {purpose:?}: z is {z}, the table says {normal}"
        );
    }
    assert_eq!(Stream::new(1, 0, Purpose::Rtt).value(1), 0x47e9_e121_5629_bb0e);
}

#[test]
fn connections_of_fixed_2025_are_those_of_the_table() {
    let fixed = population("fixed-2025");
    for (index, rtt_us, rate_kbps, queue_bytes, bytes) in
        [(0, 22_048, 117_229, 368_318, 266_793), (1, 20_952, 133_379, 316_575, 48_037)]
    {
        let drawn = fixed.draw(1, index);
        assert_eq!(
            (drawn.rtt_us, drawn.rate_kbps, drawn.queue_bytes),
            (rtt_us, rate_kbps, queue_bytes),
            "path {index}"
        );
        assert_eq!(drawn.bytes, bytes, "object of path {index}");
    }
}

#[test]
fn the_inverse_normal_inverts_and_stays_finite_at_both_ends() {
    for (u, z) in [
        (0.3, -0.524_400_512_708_040_7),
        (1e-9, -5.997_807_015_007_686_5),
        (0.01, -2.326_347_874_040_840_8),
        (1e-20, -9.262_340_089_798_405),
    ] {
        let ours = inverse_normal(u);
        assert!((ours - z).abs() <= 1e-14 * z.abs(), "z of {u} is {ours}, not {z}");
        assert!((normal_cdf(ours) - u).abs() <= 1e-13 * u, "and back: {}", normal_cdf(ours));
    }
    for x in [0, u64::MAX] {
        let z = inverse_normal(uniform(x));
        assert!(z.is_finite() && z.abs() > 8.0, "the outermost draw {x:#x} has z {z}");
    }
}

#[test]
fn quantile_tables_go_straight_in_the_logarithm_and_never_beyond_their_ends() {
    let table = QuantileTable::new(vec![(0.1, 10.0), (0.5, 40.0), (0.9, 200.0)]).unwrap();
    for (u, value) in
        [(0.02, 10.0), (0.1, 10.0), (0.3, 20.0), (0.5, 40.0), (0.75, 109.3745), (0.99, 200.0)]
    {
        let ours = table.value(u);
        assert!((ours - value).abs() < 5e-5, "at {u}: {ours}, the table says {value}");
    }
    let with_zero = QuantileTable::new(vec![(0.1, 0.0), (0.5, 4.0), (0.9, 8.0)]).unwrap();
    assert!(
        (with_zero.value(0.3) - 2.0).abs() < 1e-12,
        "plainly where an end is 0: {}",
        with_zero.value(0.3)
    );
}

#[test]
fn a_rank_correlation_becomes_a_gaussian_one() {
    let rho = Correlation::of_rank(-0.19);
    assert!((rho + 0.1986).abs() < 5e-5, "-0.19 becomes {rho}");
}

#[test]
fn populations_have_their_published_quantiles() {
    // p10, p50, p90 of 10^6 draws within 1 %.
    let rows: [(&str, Option<&str>, &str, [f64; 3]); 8] = [
        ("fixed-2025", None, "rtt_ms", [6.1, 15.0, 36.8]),
        ("fixed-2025", None, "rate_mbps", [29.0, 118.6, 486.0]),
        ("fixed-2025", None, "size_bytes", [6e3, 60e3, 603e3]),
        ("mobile-2025", None, "rtt_ms", [20.9, 45.0, 97.1]),
        ("mobile-2025", None, "rate_mbps", [24.8, 105.7, 450.0]),
        ("cdn-global-2019", None, "rtt_ms", [13.6, 39.0, 111.6]),
        ("leo-starlink", None, "rtt_ms", [34.7, 48.3, 74.4]),
        ("cdn-global-2019", Some("mobile"), "rate_mbps", [24.8, 105.7, 450.0]),
    ];
    for name in ["fixed-2025", "mobile-2025", "cdn-global-2019", "leo-starlink"] {
        let description = describe(&population(name), 1, 400_000, &AtomicBool::new(false));
        for (_, group, quantity, expected) in rows.iter().filter(|row| row.0 == name) {
            let group =
                description.groups.iter().find(|one| one.group == group.unwrap_or("all")).unwrap();
            let quantity = group.quantities.iter().find(|one| one.name == *quantity).unwrap();
            for (ours, expected) in
                [quantity.quantiles[2], quantity.quantiles[4], quantity.quantiles[6]]
                    .iter()
                    .zip(expected)
            {
                assert!(
                    (ours / expected - 1.0).abs() < 0.015,
                    "{name} {}: {ours}, published {expected}",
                    quantity.name
                );
            }
        }
        let rho = 2.0 * (std::f64::consts::PI * description.rank_correlation / 6.0).sin();
        assert!((rho + 0.2).abs() < 0.01, "{name}: drawn correlation {rho}, asked for -0.2");
    }
}

#[test]
fn objects_of_the_content_network_have_the_published_shares() {
    let cdn = population("cdn");
    let mut shares = [0.0; 6];
    let mut mean = 0.0;
    let draws = 200_000;
    for index in 0..draws {
        let bytes = cdn.draw(3, index).bytes;
        assert!((200_000..=10_000_000).contains(&bytes), "an object of {bytes} bytes");
        shares[cdn.size_bin(bytes)] += 100.0 / draws as f64;
        mean += bytes as f64 / draws as f64;
    }
    for (ours, published) in shares[1..].iter().zip([57.0, 25.0, 11.0, 5.0, 3.0]) {
        assert!((ours - published).abs() < 1.0, "shares {shares:?}");
    }
    assert!((mean / 660e3 - 1.0).abs() < 0.03, "mean {mean}");
}

/// Cloudflare's connections of October 2025: a median of 12 response packets and a mean of about 240.
#[test]
fn the_sizes_of_cloudflare_have_the_published_median_and_mean() {
    let cloudflare = population("cloudflare-2025");
    let draws = 400_000;
    let mut packets: Vec<f64> =
        (0..draws).map(|index| cloudflare.draw(1, index).bytes as f64 / 1400.0).collect();
    let mean = packets.iter().sum::<f64>() / packets.len() as f64;
    packets.sort_by(f64::total_cmp);
    let median = packets[packets.len() / 2];
    assert!((median - 12.0).abs() < 0.2, "median {median}");
    assert!((mean / 240.0 - 1.0).abs() < 0.1, "mean {mean}");
}

#[test]
fn every_builtin_prints_as_a_file_that_reads_back_to_the_same() {
    for (name, _) in builtin::FILES {
        let first = population(name);
        let again = Population::from_toml("again.toml", &first.to_string(), None)
            .unwrap_or_else(|bad| panic!("{name}: {bad}"));
        assert_eq!(first, again, "{name} changes when printed and read");
        assert!(
            first.sources.iter().any(|source| source.status == 'A'),
            "{name} says what is assumed"
        );
    }
}

#[test]
fn buffers_of_the_content_network_are_ones_that_have_been_measured() {
    let cdn = population("cdn");
    let buffer = |population: &Population| {
        let all = describe(population, 1, 20_000, &AtomicBool::new(false)).groups.swap_remove(0);
        all.quantities.into_iter().find(|one| one.name == "buffer_ms").unwrap().quantiles[4]
    };
    assert_eq!(cdn.assumptions[0].value, "buffers");
    let at = |high: bool| {
        let world = cdn.worlds().into_iter().find(|world| world.ends[0] == high);
        buffer(&world.expect("both ends are worlds").population)
    };
    let (low, own, high) = (at(false), buffer(&cdn), at(true));
    // The geometric means of three wired and of seven cellular paths.
    assert!(
        24.2 <= low && low < own && own < high && high <= 282.8,
        "medians of {low}, {own} and {high} ms"
    );
}

#[test]
fn what_nobody_measured_is_read_and_inherited_unless_the_file_has_buffers_of_its_own() {
    let file = |more: &str| {
        let text =
            format!("schema = 1\nname = \"mine\"\nversion = \"1\"\nbase = \"fixed-2025\"\n{more}");
        Population::from_toml("mine.toml", &text, None)
    };
    assert_eq!(file("").unwrap().assumptions, population("fixed-2025").assumptions);
    assert!(
        file("[defaults]\nbuffer = { constant = { value_ms = 20 } }\n")
            .unwrap()
            .assumptions
            .is_empty(),
        "what was measured needs no range"
    );
    let own =
        file("[[assumption]]\nvalue = \"loss\"\nlow = {}\nhigh = { k = 0.01 }\nref = \"ours\"\n")
            .unwrap();
    assert_eq!(
        (
            own.assumptions[0].low.setting,
            own.assumptions[0].high.setting.k,
            own.assumptions[0].high.setting.q
        ),
        (Setting::default(), Some(0.01), None),
        "the rest stays as it is"
    );
    for (text, told) in [
        (
            "[[assumption]]\nvalue = \"loss\"\nlow = {}\nhigh = {}\nref = \"x\"\n",
            "is the same as `low`",
        ),
        (
            "[[assumption]]\nvalue = \"loss\"\nlow = { q = 0 }\nhigh = {}\nref = \"x\"\n",
            "0.001 to 1000",
        ),
        ("[[assumption]]\nvalue = \"loss\"\nlow = { rtt = 1 }\nhigh = {}\nref = \"x\"\n", "rtt"),
    ] {
        let bad = file(text).unwrap_err().to_string();
        assert!(
            bad.starts_with("mine.toml:") && bad.contains(told) && bad.lines().count() == 1,
            "{bad}"
        );
    }
}

#[test]
fn every_drawn_connection_makes_a_path() {
    for (name, _) in builtin::FILES {
        let population = population(name);
        for index in 0..20_000 {
            let drawn = population.draw(7, index);
            let path =
                population.path(&drawn).unwrap_or_else(|bad| panic!("{name} {index}: {bad}"));
            assert!(
                path.open(1500, 64, 7, index).is_ok(),
                "{name} {index}: {path} carries the hosts' packets"
            );
        }
    }
}

#[test]
fn knobs_turn_in_parentheses() {
    let (plain, turned) = (population("cdn"), population("cdn(q=2,k=0.01,s=0)"));
    let (a, b) = (plain.draw(1, 5), turned.draw(1, 5));
    assert_eq!(
        (a.rtt_us, a.rate_kbps, a.bytes),
        (b.rtt_us, b.rate_kbps, b.bytes),
        "a knob moves nothing else"
    );
    assert!(b.loss_ppb >= 10_000_000, "k adds loss: {}", b.loss_ppb);
    let half = population("cdn-global-2019(mobile=0.8)");
    assert!(
        (half.groups[0].weight - 0.2).abs() < 1e-12 && (half.groups[1].weight - 0.8).abs() < 1e-12
    );
    for wrong in [
        "cdn(q=0)",
        "cdn(k=2)",
        "cdn(x=1)",
        "cdn(q)",
        "cdn(q=1",
        "geo(geo=0.5)",
        "cnd",
        "nofile.toml",
    ] {
        let line = Population::parse(wrong).expect_err(wrong).to_string();
        assert!(!line.contains('\n'), "one line for {wrong}: {line}");
    }
}

use firstflight_sim::App;

const GOOD: &str = r#"schema = 1
name = "t"
version = "1"
[[group]]
name = "a"
weight = 1.0
rtt = { constant = { value_ms = 20 } }
rate_down = { uniform = { min_mbps = 10, max_mbps = 20 } }
buffer = { constant = { value_bdp = 1 } }
size = { constant = { value_bytes = 30_000 } }
"#;

/// Each row spoils the good file in one place and has the begin of the line that refuses it.
#[track_caller]
fn refuse(rows: &[(&str, &str, &str)]) {
    for (from, to, expected) in rows {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "the row `{from}` spoils something");
        let line = Population::from_toml("t.toml", &text, None).expect_err(to).to_string();
        assert!(
            line.starts_with(expected),
            "`{to}` is refused with\n  {line}\ninstead of\n  {expected}"
        );
        assert!(!line.contains('\n'), "one line: {line}");
    }
}

#[test]
fn bad_losses_policers_and_workloads_are_refused_with_file_line_and_key() {
    refuse(&[
        (
            "size = {",
            "bursts = { g = 0.1, packet = 3, h = 0.8 }\nsize = {",
            "t.toml:10: group[0].bursts.packet: unknown key (did you mean `packets`?)",
        ),
        (
            "size = {",
            "bursts = { g = 1.5, packets = 3, h = 0.8 }\nsize = {",
            "t.toml:10: group[0].bursts.g: 1.5 is out of range; allowed: 0 to 1",
        ),
        (
            "size = {",
            "loss = 0.1\nbursts = { g = 0.1, packets = 3, h = 0.8 }\nsize = {",
            "t.toml:4: group[0].bursts: is given together with a `loss` of single packets; allowed: one of the two",
        ),
        (
            "size = {",
            "reordering = { share = 0.1, parts = [{ weight = 0.5, mean_ms = 3 }, { weight = 0.4, mean_rtt = 0.3 }] }\nsize = {",
            "t.toml:10: group[0].reordering.parts.weight: sum to 0.9; allowed: 1 within 1e-9",
        ),
        (
            "size = {",
            "reordering = { share = 0.1, parts = [{ weight = 1, mean_ms = 3, mean_rtt = 0.3 }] }\nsize = {",
            "t.toml:10: group[0].reordering.parts[0].mean_ms: needs mean_ms or mean_rtt",
        ),
        (
            "size = {",
            "policer = { share = 0.1, rate_share = 1.5, bucket = { constant = { value_ms = 10 } } }\nsize = {",
            "t.toml:10: group[0].policer.rate_share: 1.5 is out of range; allowed: more than 0 and at most 1",
        ),
        (
            "size = {",
            "policer = { share = 0.1, rate_share = 0.5 }\nsize = {",
            "t.toml:10: group[0].policer.bucket: is missing",
        ),
        (
            "size = {",
            "responses = { more = 3, most = 0, gap = { constant = { value_s = 1 } } }\nsize = {",
            "t.toml:10: group[0].responses.most: 0 is out of range; allowed: 1 to 1000 whole responses",
        ),
        (
            "size = {",
            "video = { playback = { constant = { value_s = 1 } }, coding_rate = { constant = { value_kbps = 350 } }, write_bytes = 0, ahead = 1.25 }\nsize = {",
            "t.toml:10: group[0].video.write_bytes: 0 is out of range; allowed: 1 to 10^9 whole bytes",
        ),
        (
            "size = { constant = { value_bytes = 30_000 } }",
            "size = { mixture = { weights = [0.5, 0.6], of = [{ constant = { value_kb = 1 } }, { constant = { value_kb = 2 } }] } }",
            "t.toml:10: group[0].size.mixture.weights: sum to 1.1; allowed: 1 within 1e-9",
        ),
        (
            "size = { constant = { value_bytes = 30_000 } }",
            "size = { mixture = { weights = [], of = [] } }",
            "t.toml:10: group[0].size.mixture.of: is empty; allowed: at least one distribution",
        ),
        (
            "size = { constant = { value_bytes = 30_000 } }",
            "size = { mixture = { weights = [1.0], of = [{ constant = { value_kb = 1 } }] } }\ncorrelation = [[\"rtt\", \"size\", 0.1]]",
            "t.toml:4: group[0].correlation: size is a mixture, which nothing can be correlated with",
        ),
    ]);
}

#[test]
fn bad_files_are_refused_with_file_line_and_key() {
    Population::from_toml("t.toml", GOOD, None).expect("the file that the rows below spoil");
    let rows: [(&str, &str, &str); 22] = [
        (
            "version = \"1\"",
            "version = \"1\"\ncolour = 3",
            "t.toml:4: colour: unknown key; allowed: schema, name",
        ),
        ("rtt =", "rrt =", "t.toml:7: group[0].rrt: unknown key (did you mean `rtt`?)"),
        (
            "value_ms = 20",
            "value_mz = 20",
            "t.toml:7: group[0].rtt.constant.value_mz: unknown key (did you mean `value_ms`?)",
        ),
        (
            "weight = 1.0",
            "weight = 0.9",
            "t.toml:4: group.weight: sum to 0.9; allowed: 1 within 1e-9",
        ),
        (
            "weight = 1.0",
            "weight = 0",
            "t.toml:6: group[0].weight: 0 is out of range; allowed: more than 0 and at most 1",
        ),
        (
            "value_bytes = 30_000",
            "value_bytes = 0",
            "t.toml:10: group[0].size.constant.value_bytes: 0 is out of range; allowed: at least 1 byte",
        ),
        (
            "value_ms = 20",
            "value_ms = -20",
            "t.toml:7: group[0].rtt.constant.value_ms: -20 is out of range; allowed: more than 0",
        ),
        (
            "value_ms = 20",
            "value_ms = nan",
            "t.toml:7: group[0].rtt.constant.value_ms: nan is not a number",
        ),
        (
            "value_ms = 20",
            "value_ms = \"20\"",
            "t.toml:7: group[0].rtt.constant.value_ms: found string; allowed: a number",
        ),
        (
            "min_mbps = 10",
            "min_mbps = 30",
            "t.toml:8: group[0].rate_down.uniform.min and max: 30 is more than 20",
        ),
        (
            "{ constant = { value_ms = 20 } }",
            "20",
            "t.toml:7: group[0].rtt: found integer; allowed: a table in braces",
        ),
        (
            "constant = { value_bdp = 1 }",
            "gauss = { value_bdp = 1 }",
            "t.toml:9: group[0].buffer.gauss: unknown key",
        ),
        (
            "size = {",
            "loss = 1.5\nsize = {",
            "t.toml:10: group[0].loss: 1.5 is out of range; allowed: 0 or more and below 1",
        ),
        (
            "size = { constant = { value_bytes = 30_000 } }",
            "",
            "t.toml:4: group[0].size: is missing, in the group and in [defaults]",
        ),
        ("schema = 1", "schema = 2", "t.toml:1: schema: 2 is out of range; allowed: 1"),
        ("name = \"a\"", "name = \"\"", "t.toml:4: group[0].name: `` is empty or given twice"),
        (
            "size = { constant = { value_bytes = 30_000 } }",
            "size = { choice = { values_bytes = [1, 2], weights = [0.5, 0.6] } }",
            "t.toml:10: group[0].size.choice.weights: sum to 1.1; allowed: 1 within 1e-9",
        ),
        (
            "size = {",
            "correlation = [[\"rtt\", \"loss\", 0.1]]\nsize = {",
            "t.toml:10: group[0].correlation: loss cannot be correlated",
        ),
        (
            "size = {",
            "return_path = \"lte9\"\nsize = {",
            "t.toml:10: group[0].return_path: return=lte9: ",
        ),
        (
            "{ constant = { value_ms = 20 } }",
            "{ quantiles = \"missing.csv\" }",
            "t.toml:7: group[0].rtt.quantiles: missing.csv: ",
        ),
        ("weight = 1.0", "weight = = 1", "t.toml:6: "),
        (
            "{ constant = { value_ms = 20 } }",
            "{ table = { q = [0.1, 0.5, 0.4], values_ms = [1, 2, 3] } }",
            "t.toml:7: group[0].rtt.table.q: row 2: q = 0.4 follows 0.5; allowed: strictly rising",
        ),
    ];
    refuse(&rows);
}

#[test]
fn a_file_without_a_group_is_refused() {
    let empty = "schema = 1\nname = \"t\"\nversion = \"1\"\n";
    let line = Population::from_toml("t.toml", empty, None).expect_err("no group").to_string();
    assert_eq!(line, "t.toml:1: group: is missing; allowed: one or more [[group]], or `base`");
    let line = Population::from_toml("t.toml", &format!("{empty}group = []\n"), None)
        .expect_err("no group")
        .to_string();
    assert_eq!(line, "t.toml:4: group: is empty; allowed: at least one group");
}

#[test]
fn quantile_tables_drive_a_population_and_bad_ones_name_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.csv");
    let good = "variable,unit,q,value\nrtt,ms,0.1,10\nrtt,ms,0.5,40\nrtt,ms,0.9,200\n";
    std::fs::write(&file, good).unwrap();
    let mine = population(file.to_str().unwrap());
    let fixed = population("fixed-2025");
    let (a, b) = (mine.draw(1, 0), fixed.draw(1, 0));
    assert_eq!(
        (a.rate_kbps, a.bytes),
        (b.rate_kbps, b.bytes),
        "what the table lacks comes from fixed-2025"
    );
    let u = normal_cdf(0.550_223_417_4);
    let expected = 40.0 * ((u - 0.5) / 0.4 * 5_f64.ln()).exp();
    assert!(
        (a.rtt_us as f64 / 1e3 - expected).abs() < 1e-3,
        "round trip {} us, the table gives {expected} ms",
        a.rtt_us
    );
    let rows = [
        ("rtt,ms,0.5,40", "rtt,ms,0.5", "3: 3 cells; allowed: 4"),
        (
            "rtt,ms,0.5,40",
            "rtt,Mbit/s,0.5,40",
            "3: unit: `Mbit/s` is not a unit of rtt; allowed: ms, us",
        ),
        ("rtt,ms,0.5,40", "delay,ms,0.5,40", "3: variable: `delay` is unknown; allowed: rtt, "),
        ("rtt,ms,0.5,40", "rtt,ms,0.5,x", "3: value: `x` is not a number"),
        (
            "rtt,ms,0.5,40",
            "rtt,ms,0.5,0",
            "3: value: 0 is out of range for rtt; allowed: more than 0",
        ),
        (
            "rtt,ms,0.5,40",
            "rtt,ms,0.05,40",
            "3: rtt: q = 0.05 follows 0.1; allowed: strictly rising",
        ),
        ("rtt,ms,0.9,200", "rtt,ms,0.9,20", "4: rtt: value 20 follows 40; allowed: never falling"),
        ("rtt,ms,0.9,200\n", "", "3: rtt: only 2 rows; allowed: at least 3"),
        ("rtt,ms,0.9,200", "rtt,ms,1.0,200", "4: rtt: q = 1 is out of range"),
    ];
    for (from, to, expected) in rows {
        let line =
            Population::from_csv("mine.csv", &good.replace(from, to)).expect_err(to).to_string();
        assert!(
            line.starts_with(&format!("mine.csv:{expected}")),
            "`{to}` is refused with\n  {line}\ninstead of\n  mine.csv:{expected}"
        );
    }
}

#[test]
fn measured_paths_keep_what_hangs_together() {
    let rows = "rtt_ms,rate_mbps,buffer_ms,loss_pct,group,weight,size_bytes\n10,100,5,0,near,3,1000\n200,2,50,1,far,1,2000\n";
    let mine = Population::from_csv("mine.csv", rows).unwrap();
    assert_eq!(
        mine.groups.iter().map(|group| (group.name.as_str(), group.weight)).collect::<Vec<_>>(),
        [("near", 0.75), ("far", 0.25)]
    );
    let mut near = 0;
    for index in 0..4000 {
        let drawn = mine.draw(1, index);
        let expected = if drawn.group == 0 {
            (10_000, 100_000, 0, 1000)
        } else {
            (200_000, 2_000, 10_000_000, 2000)
        };
        assert_eq!(
            (drawn.rtt_us, drawn.rate_kbps, drawn.loss_ppb, drawn.bytes),
            expected,
            "connection {index}"
        );
        near += usize::from(drawn.group == 0);
    }
    assert!((2850..3150).contains(&near), "three of four are near: {near} of 4000");
    assert!(
        mine.warnings().iter().any(|line| line.contains("do not represent the tails")),
        "few rows are pointed out"
    );
    for (text, expected) in [
        ("rtt_ms\n1\n", "mine.csv:1: column `rate_mbps` is missing"),
        ("rtt_ms,rate_mbps,colour\n1,1,1\n", "mine.csv:1: column `colour` is unknown"),
        ("rtt_ms,rate_mbps\n1\n", "mine.csv:2: 1 cells under 2 columns"),
        (
            "rtt_ms,rate_mbps\n1,2\n3,0\n",
            "mine.csv:3: rate_mbps: 0 is out of range; allowed: more than 0",
        ),
        (
            "rtt_ms,rate_mbps,size_bytes\n1,2,0\n",
            "mine.csv:2: size_bytes: 0 is out of range; allowed: at least 1 byte",
        ),
        ("rtt_ms,rate_mbps\n", "mine.csv:1: no row below the header"),
    ] {
        let line = Population::from_csv("mine.csv", text).expect_err(text).to_string();
        assert!(
            line.starts_with(expected),
            "{text:?} is refused with\n  {line}\ninstead of\n  {expected}"
        );
    }
}

#[test]
fn a_population_can_stand_on_another() {
    let text =
        "schema = 1\nname = \"mine\"\nversion = \"1\"\nbase = \"geo\"\n[defaults]\nloss = 0.02\n";
    let mine = Population::from_toml("mine.toml", text, None).unwrap();
    let (a, b) = (mine.draw(1, 0), population("geo").draw(1, 0));
    assert_eq!((a.rtt_us, a.rate_kbps, a.loss_ppb), (b.rtt_us, b.rate_kbps, 20_000_000));
    assert!(mine.groups[0].get(Variable::Loss).is_some());
}

#[test]
fn a_satellite_population_sends_acks_through_slots_and_grants() {
    let geo = population("geo");
    let path = geo.path(&geo.draw(1, 0)).unwrap();
    assert!(path.is_driven(), "{path}: the terminal decides about ACKs after they are sent");
}

#[test]
fn a_share_of_the_paths_has_a_policer_and_each_rate_is_a_share_of_its_link() {
    let india = population("in-video");
    let drawn: Vec<_> = (0..20_000).map(|index| india.draw(3, index)).collect();
    let policed: Vec<_> = drawn.iter().filter_map(|drawn| Some((drawn, drawn.policer?))).collect();
    let share = policed.len() as f64 / drawn.len() as f64;
    assert!((share - 0.4).abs() < 0.01, "{share} of the paths have a policer, the file says 0.4");
    for (drawn, policer) in policed {
        let rate = policer.bps as f64 / (drawn.rate_kbps * 1_000) as f64;
        assert!(
            (0.29..0.91).contains(&rate),
            "a policer of {rate} of its link, the file says 0.3 to 0.9"
        );
        assert!(
            policer.bucket_bytes() >= 3000,
            "a bucket of {} B lets no packet through",
            policer.bucket_bytes()
        );
    }
}

#[test]
fn overtaken_packets_are_late_in_proportion_to_the_round_trip() {
    let text = GOOD.replace(
        "size = {",
        "reordering = { share = 0.1, parts = [{ weight = 0.9, mean_ms = 3 }, { weight = 0.1, mean_rtt = 0.3 }] }\nsize = {",
    );
    let one = Population::from_toml("t.toml", &text, None).unwrap();
    let path = one.path(&one.draw(1, 0)).unwrap();
    let reorder = path.effects().reorder.expect("packets are overtaken");
    assert_eq!(
        reorder.first,
        (90_000_000, 3_000_000),
        "nine in ten of the overtaken are 3 ms late"
    );
    assert_eq!(
        reorder.second,
        Some((10_000_000, 6_000_000)),
        "one in ten is 0.3 of the 20 ms of round trip late"
    );
}

#[test]
fn web_connections_carry_four_responses_on_average_and_each_has_its_own_size() {
    let web = population("us-web");
    let mut sizes = Vec::new();
    let mut longest = 0;
    for index in 0..20_000 {
        let App::Responses(responses) = web.app(&web.draw(1, index), 1) else {
            panic!("connection {index} carries responses")
        };
        longest = longest.max(responses.len());
        sizes.extend(responses.iter().map(|response| response.bytes));
    }
    let per_connection = sizes.len() as f64 / 20_000.0;
    assert!(
        (per_connection - 4.0).abs() < 0.1,
        "{per_connection} responses per connection, 1 + 3 are meant (a few are cut at 20)"
    );
    assert!(longest <= 20, "{longest} responses on one connection");
    sizes.sort_unstable();
    let at = |share: f64| sizes[(share * sizes.len() as f64) as usize] as f64;
    assert!(
        (at(0.5) / 4_200.0 - 1.0).abs() < 0.05,
        "median response of {} B, 4.2 kB are meant",
        at(0.5)
    );
    assert!((at(0.9) / 23_000.0 - 1.0).abs() < 0.1, "p90 of {} B, 23 kB are meant", at(0.9));
    let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    assert!(
        (mean / 11_000.0 - 1.0).abs() < 0.15,
        "mean response of {mean} B, about 11 kB are meant"
    );
}

#[test]
fn videos_send_ten_to_forty_seconds_at_once() {
    let video = population("in-video");
    for index in 0..2_000 {
        let App::Video { bytes, first, write, every } = video.app(&video.draw(1, index), 1) else {
            panic!("{index} carries a video")
        };
        assert!(
            first <= bytes && write == 65_536,
            "{index}: {first} of {bytes} B at once, then {write} B"
        );
        let coding = write as f64 * 8.0 / (1.25 * every.0 as f64 / 1e9);
        let seconds = first as f64 * 8.0 / coding;
        assert!(
            first == bytes || (9.9..40.1).contains(&seconds),
            "{index}: {seconds} s of playing at once"
        );
    }
}

#[test]
fn a_random_loss_that_spreads_keeps_its_median() {
    let (common, spread) = (population("cdn(k=0.01,s=0)"), population("cdn(k=0.01,s=1.2)"));
    let losses = |of: &Population| {
        let mut all: Vec<u64> = (0..20_001).map(|index| of.draw(1, index).loss_ppb).collect();
        all.sort_unstable();
        (all[2_000], all[10_000], all[18_000])
    };
    assert_eq!(
        losses(&common),
        (10_000_000, 10_000_000, 10_000_000),
        "without a spread all paths lose alike"
    );
    let (low, middle, high) = losses(&spread);
    assert!((middle as f64 / 1e7 - 1.0).abs() < 0.03, "median loss {middle} of 1e-9, k is 1e7");
    let factor = (1.2_f64 * 1.2816).exp();
    assert!(
        (high as f64 / 1e7 / factor - 1.0).abs() < 0.05
            && (1e7 / low as f64 / factor - 1.0).abs() < 0.05,
        "p10 {low}, p90 {high}"
    );
}
