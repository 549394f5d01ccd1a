// Package house holds the rules of the house as tests; it has no other code.
//
// Each file guards one rule and names it: where imports may point, that every
// package says what it is for, that no state hides in package variables, that
// standard output belongs to the commands, and so on. A failure says which
// line breaks the rule and what to do about it. A rule that is wrong is
// changed here, with its reason; it is not worked around.
//
// The tests read the tree themselves (see tree_test.go) and do so in the test
// process, so that the go command sees what they read and never answers a
// changed tree from its test cache.
package house
