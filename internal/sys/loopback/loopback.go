// Package loopback tells addresses that never leave this machine from others. It
// has no state.
package loopback

import (
	"net"
	"strings"
)

// Host reports whether a host name, without a port, is this machine and nothing
// else. A name is believed only if it is localhost: any other may lead here today
// and elsewhere tomorrow.
func Host(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
