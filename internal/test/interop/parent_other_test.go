//go:build !linux

package interop_test

func beParent([]string) {}
