//! Counting tests from what test programs print.
//!
//! Understands libtest (`cargo test`), cargo-nextest, pytest and Node's test runner.

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
}

impl Tally {
    pub const PASS: Tally = Tally { passed: 1, failed: 0 };
    pub const FAIL: Tally = Tally { passed: 0, failed: 1 };

    pub fn total(self) -> u64 {
        self.passed + self.failed
    }

    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Collects the summaries that a command prints.
#[derive(Debug, Default)]
pub struct Counter {
    nextest: Option<Tally>,
    others: Tally,
}

impl Counter {
    /// Looks at one line of output.
    pub fn line(&mut self, line: &str) {
        let line = strip_colour(line);
        let line = line.trim();
        if let Some(tally) = nextest(line) {
            self.nextest.get_or_insert_default().add(tally);
        } else if let Some(tally) = libtest(line).or_else(|| pytest(line)).or_else(|| node(line)) {
            self.others.add(tally);
        }
    }

    /// What was counted; zero if no summary was seen.
    ///
    /// nextest shows the output of failing tests, and libtest's summary of each is in it, so that a nextest summary
    /// replaces all others.
    pub fn tally(&self) -> Tally {
        self.nextest.unwrap_or(self.others)
    }
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; …`
fn libtest(line: &str) -> Option<Tally> {
    let rest = line.strip_prefix("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    let mut tally = Tally::default();
    for (number, word) in counts.split(';').filter_map(counted) {
        match word {
            "passed" => tally.passed = number,
            "failed" => tally.failed = number,
            _ => {}
        }
    }
    Some(tally)
}

/// `Summary [   0.005s] 3/4 tests run: 2 passed (1 slow), 1 failed, 1 timed out, 0 skipped`
fn nextest(line: &str) -> Option<Tally> {
    let rest = line.strip_prefix("Summary [")?;
    let (head, counts) = rest.split_once(" run: ")?;
    if !(head.ends_with("test") || head.ends_with("tests")) {
        return None;
    }
    let mut tally = Tally::default();
    for (number, word) in without_brackets(counts).split(',').filter_map(counted) {
        match word {
            "passed" => tally.passed += number,
            "skipped" => {}
            _ => tally.failed += number,
        }
    }
    Some(tally)
}

/// `==== 1 failed, 5 passed, 2 skipped in 0.12s ====`
fn pytest(line: &str) -> Option<Tally> {
    let (counts, time) = line.trim_matches('=').trim().rsplit_once(" in ")?;
    time.split_whitespace().next()?.strip_suffix('s')?.parse::<f64>().ok()?;
    let mut tally = Tally::default();
    for part in counts.split(',') {
        match counted(part)? {
            (number, "passed" | "xfailed") => tally.passed += number,
            (number, "failed" | "error" | "errors" | "xpassed") => tally.failed += number,
            (_, "skipped" | "deselected" | "warning" | "warnings" | "rerun") => {}
            _ => return None,
        }
    }
    Some(tally)
}

/// `# pass 5` and `# fail 0`, or with `ℹ` for `#`, on a line each.
fn node(line: &str) -> Option<Tally> {
    let rest = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?;
    let (word, number) = rest.split_once(' ')?;
    let number = number.parse().ok()?;
    match word {
        "pass" => Some(Tally { passed: number, failed: 0 }),
        "fail" | "cancelled" => Some(Tally { passed: 0, failed: number }),
        _ => None,
    }
}

/// `" 3 timed out"` as `(3, "timed out")`.
fn counted(part: &str) -> Option<(u64, &str)> {
    let (number, word) = part.trim().split_once(' ')?;
    Some((number.parse().ok()?, word.trim()))
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0usize;
    text.chars()
        .filter(|&c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

/// Removes terminal colour codes: escape, `[`, anything up to a letter.
fn strip_colour(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            out.push(c);
        } else if chars.next() == Some('[') {
            chars.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(output: &str) -> (u64, u64) {
        let mut counter = Counter::default();
        output.lines().for_each(|line| counter.line(line));
        let tally = counter.tally();
        (tally.passed, tally.failed)
    }

    #[test]
    fn libtest_summaries_of_several_binaries_add_up() {
        let output = "\
running 3 tests
test a ... ok
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 5 filtered out; finished in 1.50s";
        assert_eq!(count(output), (13, 2));
    }

    #[test]
    fn libtest_without_any_test_counts_none() {
        assert_eq!(
            count(
                "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s"
            ),
            (0, 0)
        );
    }

    #[test]
    fn nextest_summary_is_counted() {
        assert_eq!(count("     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped"), (3, 0));
        assert_eq!(count("     Summary [   0.005s] 1 test run: 1 passed, 2 skipped"), (1, 0));
    }

    #[test]
    fn nextest_remarks_in_brackets_do_not_count() {
        let line =
            "Summary [  12.345s] 10 tests run: 8 passed (1 slow, 2 flaky, 1 leaky), 2 failed, 4 skipped";
        assert_eq!(count(line), (8, 2));
    }

    #[test]
    fn nextest_timeouts_and_failed_starts_are_failures() {
        let line = "Summary [ 1.0s] 5/9 tests run: 2 passed, 1 failed, 1 timed out, 1 exec failed, 0 skipped";
        assert_eq!(count(line), (2, 3));
    }

    #[test]
    fn libtest_lines_inside_nextest_output_are_not_counted_twice() {
        let output = "\
        FAIL [   0.004s] pellucid a::b
  stdout ───
    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.00s
     Summary [   0.005s] 2 tests run: 1 passed, 1 failed, 0 skipped
        FAIL [   0.004s] pellucid a::b";
        assert_eq!(count(output), (1, 1));
    }

    #[test]
    fn colours_are_ignored() {
        let line = "\x1b[32;1m     Summary\x1b[0m [   0.005s] \x1b[1m2\x1b[0m tests run: \
                    \x1b[1m2\x1b[0m \x1b[32;1mpassed\x1b[0m, \x1b[1m0\x1b[0m \x1b[33;1mskipped\x1b[0m";
        assert_eq!(count(line), (2, 0));
        assert_eq!(count("test result: \x1b[32mok\x1b[m. 4 passed; 0 failed; 0 ignored"), (4, 0));
    }

    #[test]
    fn pytest_summary_is_counted() {
        assert_eq!(count("==== 1 failed, 5 passed, 2 skipped in 0.12s ===="), (5, 1));
        assert_eq!(count("120 passed, 3 warnings in 61.20s (0:01:01)"), (120, 0));
        assert_eq!(count("=== 2 passed, 1 error in 0.50s ==="), (2, 1));
    }

    #[test]
    fn node_summary_is_counted() {
        assert_eq!(count("# tests 7\n# pass 5\n# fail 2\n# cancelled 0"), (5, 2));
        assert_eq!(count("ℹ tests 4\nℹ pass 4\nℹ fail 0"), (4, 0));
    }

    #[test]
    fn other_lines_are_not_summaries() {
        for line in [
            "",
            "test result:",
            "Summary [",
            "Summary [ 1s] nothing run: 3 passed",
            "5 passed",
            "3 passed in a row",
            "    Finished `dev` profile [optimized + debuginfo] target(s) in 0.12s",
            "# comment",
            "warning: 2 warnings emitted, 1 duplicate in 3s",
        ] {
            assert_eq!(count(line), (0, 0), "{line:?}");
        }
    }
}
