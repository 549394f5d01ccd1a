package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Seatbelt writes the Spec as a profile for sandbox-exec -p on macOS. It has not been
// tried on a Mac. Commands use tmp as their temporary directory, and the proxy listens
// on port of the loopback interface; 0 means that there is no proxy.
//
// macOS has neither private directories nor layers: Seatbelt refuses a Spec with
// Layers.
func (s *Spec) Seatbelt(tmp string, port int) (string, error) {
	if err := s.Check(); err != nil {
		return "", err
	}
	if len(s.Layers) > 0 {
		return "", fmt.Errorf("put an overlay on %s: macOS has no overlays", s.Layers[0].Dir)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(deny default)")
	line("(allow process*)")
	if s.KeepSignals {
		line("(deny signal)\n(allow signal (target same-sandbox))")
	} else {
		line("(allow signal (target same-sandbox))")
	}
	line("(allow sysctl-read)\n(allow ipc-posix*)\n(allow pseudo-tty)")
	line(`(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.trustd.agent") (global-name "com.apple.SystemConfiguration.configd"))`)
	line("(allow file-read*)")
	line(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper") (regex #"^/dev/fd/"))`)
	line(`(allow file-ioctl (literal "/dev/tty"))`)
	for _, path := range append(slices.Clone(s.Write), tmp) {
		line("(allow file-write* (subpath %s))", seatbeltString(path))
	}
	for _, path := range s.Protect { // a later rule wins, and holds for names that do not exist yet
		line("(deny file-write* (subpath %s))", seatbeltString(path))
	}
	for _, path := range slices.Concat(s.Hide, s.Deny) {
		line("(deny file-read* file-write* (subpath %s))", seatbeltString(path))
	}
	switch {
	case s.Network == Open:
		line("(allow network*)\n(allow system-socket)")
	default:
		line(`(allow network-bind (local ip "localhost:*"))`)
		line(`(allow network-inbound (local ip "localhost:*"))`)
		if port != 0 {
			line(`(allow network-outbound (remote ip "localhost:%d"))`, port)
		}
	}
	return b.String(), nil
}

// seatbeltString quotes a path for a profile.
func seatbeltString(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
