//go:build !linux

package sandbox

func readSysctl(string) string { return "" }

func restrictedByAppArmor() bool { return false }
