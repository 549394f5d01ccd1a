//go:build !linux

package repl_test

// victim is for the test of a killed harness, which only Linux passes.
func victim() {}
