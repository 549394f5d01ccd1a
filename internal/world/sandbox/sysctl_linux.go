package sandbox

import (
	"os"
	"strings"
)

func readSysctl(name string) string {
	data, _ := os.ReadFile("/proc/sys/" + name)
	return strings.TrimSpace(string(data))
}

func restrictedByAppArmor() bool {
	return readSysctl("kernel/apparmor_restrict_unprivileged_userns") == "1"
}
