// sampling.h for Zig (0.14): the library "sampling", a static one, with its header.
const std = @import("std");

pub fn build(b: *std.Build) void {
    const lib = b.addStaticLibrary(.{
        .name = "sampling",
        .target = b.standardTargetOptions(.{}),
        .optimize = b.standardOptimizeOption(.{ .preferred_optimize_mode = .ReleaseFast }),
        .link_libc = true,
    });
    lib.addCSourceFile(.{ .file = b.path("sampling.c"), .flags = &.{"-std=c11"} });
    lib.addIncludePath(b.path("."));
    lib.installHeader(b.path("sampling.h"), "sampling.h");
    b.installArtifact(lib);
}
