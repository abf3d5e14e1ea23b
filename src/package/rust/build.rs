// Compiles sampling.c by the C compiler that CC names, or cc; AR, or ar.
use std::{env, path::Path, process::Command};

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let (object, library) = (Path::new(&out).join("sampling.o"), Path::new(&out).join("libsampling.a"));
    let named = |name: &str, or: &str| {
        let target = env::var("TARGET").unwrap().replace('-', "_");
        env::var(format!("{name}_{target}")).or_else(|_| env::var(name)).unwrap_or_else(|_| or.to_string())
    };
    let run = |command: &mut Command| {
        let done = command.status().unwrap_or_else(|why| panic!("{command:?}: {why}; CC and AR say which programs to use"));
        assert!(done.success(), "{command:?} failed");
    };
    let flags = env::var("CFLAGS").unwrap_or_else(|_| "-O2".to_string());
    run(Command::new(named("CC", "cc")).args(flags.split_whitespace()).args(["-std=c11", "-fPIC", "-I.", "-c", "sampling.c", "-o"]).arg(&object));
    run(Command::new(named("AR", "ar")).arg("rcs").arg(&library).arg(&object));
    println!("cargo:rerun-if-changed=sampling.c\ncargo:rerun-if-changed=sampling.h");
    println!("cargo:rustc-link-search=native={out}\ncargo:rustc-link-lib=static=sampling");
    if env::var("CARGO_CFG_TARGET_FAMILY").as_deref() == Ok("unix") {
        println!("cargo:rustc-link-lib=m");
    }
}
