// Package shell reads a command line as bash would and says what it would do.
//
// Analyze parses a command once and answers three questions about it: whether
// it provably only reads (ReadOnly, with the text Run that must run instead of
// the original), which commands an allow rule has to cover (Exact, Allow), and
// which commands, in every form that can be recognised, a deny or ask rule
// should see (Deny). It also lists the files named by operands and
// redirections, and what no mode may lose without asking (Critical).
//
// What each program may be given is data: see package grammar and its files.
//
// # Trust
//
// The command is hostile: it is written by a model that reads what others
// wrote. Nothing is run and nothing is read except through the FS that the
// caller passes. ReadOnly holds only under the environment of Hardening and in
// a fresh "bash --norc --noprofile -c". Where the parser and bash are known to
// differ, and for everything that is not understood, the answer is "not
// read-only". Deny is a guard rail, not a boundary: a program can always hide
// what it does; the sandbox is the boundary.
//
// Analyze is a pure function apart from the FS and safe for concurrent use.
package shell
