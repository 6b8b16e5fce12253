//! Contradictions between the rows of a trace.

/// Rows that contradict each other or the manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Two operations or arrays have one number.
    #[error("array {array} is made twice, the second time by row {row} of ops")]
    MadeTwice {
        /// The number.
        array: u64,
        /// Row of the second.
        row: usize,
    },
    /// An operation's number is not its first output's, or the lists about its outputs differ in length.
    #[error(
        "op {op} has {outputs} outputs, {shapes} shapes and {dtypes} types, or does not bear the number of its first output"
    )]
    Outputs {
        /// The operation.
        op: u64,
        /// Length of `outputs`.
        outputs: usize,
        /// Length of `shapes`.
        shapes: usize,
        /// Length of `dtypes`.
        dtypes: usize,
    },
    /// An operation reads an array that nothing makes.
    #[error("op {op} reads array {array}, which does not exist")]
    UnknownInput {
        /// The operation.
        op: u64,
        /// The array.
        array: u64,
    },
    /// An operation reads an array that is made later, or by itself: the graph has a cycle or a wrong order.
    #[error("op {op} reads array {array}, which is made by itself or later: the graph has a cycle")]
    Cycle {
        /// The operation.
        op: u64,
        /// The array.
        array: u64,
    },
    /// A shape that no memory holds.
    #[error("op {op} has an output of shape {shape:?} of {dtype}, which no memory holds")]
    AbsurdShape {
        /// The operation.
        op: u64,
        /// The shape, its first 16 dimensions.
        shape: Vec<u64>,
        /// The type.
        dtype: String,
    },
    /// An element type that does not exist.
    #[error("{table} has the unknown element type {dtype:?}")]
    UnknownType {
        /// The table.
        table: &'static str,
        /// The type.
        dtype: String,
    },
    /// A row names something that does not exist.
    #[error("row {row} of {table} names {what} {id}, which does not exist")]
    UnknownId {
        /// The table.
        table: &'static str,
        /// The row.
        row: usize,
        /// What is named.
        what: &'static str,
        /// Its number.
        id: u64,
    },
    /// Two launches have one number.
    #[error("two launches have the number {launch}")]
    LaunchTwice {
        /// The number.
        launch: u64,
    },
    /// Times that run backwards or lie outside the window.
    #[error(
        "row {row} of {table} has impossible times: from {start_ns} to {end_ns} ns in a window of {window_ns} ns"
    )]
    Times {
        /// The table.
        table: &'static str,
        /// The row.
        row: usize,
        /// Begin.
        start_ns: i64,
        /// End.
        end_ns: i64,
        /// Length of the window.
        window_ns: i64,
    },
    /// A launch begins before the one before it on its stream has ended.
    #[error("launch {launch} overlaps launch {previous} of the same stream {stream}")]
    Overlap {
        /// The launch.
        launch: u64,
        /// The one before.
        previous: u64,
        /// Their stream.
        stream: u32,
    },
    /// The lists about a dispatch's bindings or sizes differ in length.
    #[error("row {row} of dispatches has lists about its bindings or its grid that differ in length")]
    Bindings {
        /// The row.
        row: usize,
    },
    /// The dispatches of a launch take another time than it.
    #[error("the dispatches of launch {launch} take {sum_ns} ns together, the launch {took_ns} ns")]
    DispatchTimes {
        /// The launch.
        launch: u64,
        /// Time of its dispatches.
        sum_ns: i128,
        /// Time of the launch.
        took_ns: i128,
    },
    /// A word that is not one of those allowed.
    #[error("row {row} of {table} has the unknown {column} {word:?}")]
    UnknownWord {
        /// The table.
        table: &'static str,
        /// The row.
        row: usize,
        /// The column.
        column: &'static str,
        /// The word.
        word: String,
    },
    /// Counts of elements that do not add up, or a malformed hash.
    #[error(
        "row {row} of stats is impossible: {nan} NaN, {inf} infinite and {zero} zero of {size} elements, hash {hash:?}"
    )]
    Stats {
        /// The row.
        row: usize,
        /// NaNs.
        nan: u64,
        /// Infinities.
        inf: u64,
        /// Zeros.
        zero: u64,
        /// Elements.
        size: u64,
        /// The hash.
        hash: String,
    },
    /// The manifest counts other rows than there are.
    #[error("the manifest counts {manifest} {what}, the file has {found}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// By the manifest.
        manifest: u64,
        /// In the file.
        found: u64,
    },
    /// Regions whose parents go in circles or do not exist, or whose times are impossible.
    #[error("region {region} has an impossible parent or times")]
    Region {
        /// The region.
        region: u32,
    },
}
