//! Planning of compactions against what the systems of the seeds compute: kinds `session`
//! (entryTokens, contextEstimate, cutPoints, prepare, prune, branch, branchPrepared),
//! `estimateTokens`, `usage`, `shouldCompact`, `trigger`, `pruneToBudget`, `overflow`,
//! `contextPruning`, `truncate`.

mod ends;
mod figures;
mod overflow;
mod plans;
mod scene;
mod view;
