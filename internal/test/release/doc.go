// Package release holds the tests of what a release is made of: the configuration of
// GoReleaser, the files beside the program, the module as the go command downloads it, and
// the npm packages. docs/dev/release.md says how a release is made. There is nothing to import.
package release
