//! Compiles the controllers: as BPF for the kernel (feature `bpf`), as native code for the tests
//! (feature `native`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        #[cfg(feature = "bpf")]
        bpf();
        #[cfg(feature = "native")]
        native();
    }
}

#[cfg(feature = "bpf")]
fn bpf() {
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=bpf");
    // Each table is both C code and a call of the macro of its name.
    for name in ["arms", "hystart_record"] {
        let table = std::fs::read_to_string(format!("bpf/{name}.def"));
        let table = table.expect("it is beside this file");
        std::fs::write(out.join(format!("{name}.rs")), format!("{name}! {{\n{table}\n}}\n"))
            .expect("cargo's directory can be written");
    }
    for object in ["firstflight", "hystart_trace", "field", "watch", "traced"] {
        libbpf_cargo::SkeletonBuilder::new()
            .source(format!("bpf/{object}.bpf.c"))
            .clang_args([
                "-mcpu=v3",
                "-Wall",
                "-Wextra",
                "-Wno-unused-function",
                "-Wno-unused-parameter",
                "-Wno-sign-compare",
            ])
            .obj(out.join(format!("{object}.bpf.o")))
            .build()
            .expect("the feature `bpf` needs clang, libelf-dev and zlib1g-dev");
    }
}

#[cfg(feature = "native")]
fn native() {
    println!("cargo::rerun-if-changed=bpf");
    cc::Build::new()
        .file("bpf/native.c")
        .define("FF_NATIVE", None)
        .warnings(true)
        .flag("-Wno-unused-function")
        .flag("-Wno-unused-parameter")
        .flag_if_supported("-fsanitize=undefined")
        .flag_if_supported("-fsanitize-undefined-trap-on-error")
        .compile("firstflight_native");
}
