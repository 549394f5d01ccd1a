//go:build !linux

package needtest

import "errors"

var probes = map[Thing]probe{
	Namespaces: {"no user namespaces", linux},
	Overlay:    {"no overlays in user namespaces", linux},
	Landlock:   {"no Landlock", linux},
	Cgroups:    {"no cgroup can be made", linux},
	Resolver:   {"localhost has no address", resolve},
	Tracing:    {"strace is not installed, or may not trace", linux},
	Checkout:   {"the files are no git checkout", checkout},
	Root:       {"only root can do this", asRoot},
	Mounts:     {"mounting is not permitted", linux},
}

func linux() error { return errors.New("only Linux has it") }
