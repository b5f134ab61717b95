//! Comparison with results that other implementations of the format computed: `../shared/oracle`.
//! Where those cases are absent, every test says so and passes.

mod compaction;
