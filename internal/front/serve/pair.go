package serve

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/loopback"
)

var errNoDevices = &Problem{status: http.StatusNotFound, Code: "no_pairing", Message: "This server does not pair devices."}

// Unreachable says what to do about a server that a phone cannot call.
const Unreachable = "A phone cannot reach this server: it listens on this machine only. Start it with --host https://NAME, where NAME is the host name of a tunnel to it (such as 'tailscale serve'), or with --listen and a certificate. See 'haft help serve'."

// Reachable reports whether an address can be called from another machine.
func Reachable(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return !loopback.Host(u.Hostname()) && (ip == nil || !ip.IsUnspecified())
}

// Address is that of the page on a host. One that is written with http:// or https:// is
// where a proxy in front of the server is called; others get the server's scheme and,
// unless they have one, its port.
func Address(host, port string, secure bool) string {
	if strings.Contains(host, "://") {
		return strings.TrimSuffix(host, "/") + "/"
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), port)
	}
	return scheme + host + "/"
}

// deviceName is how a list calls a browser; "" if it is not known.
func deviceName(agent string) string {
	for _, n := range [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, n[0]) {
			return n[1]
		}
	}
	return ""
}

// deviceKey is that of the device in the context of a request.
type deviceKey struct{}

// deviceOf is the device that sends a request, nil for the user at this machine.
func deviceOf(r *http.Request) *Device {
	d, _ := r.Context().Value(deviceKey{}).(*Device)
	return d
}

// For the user at this machine only: other ways in, and the conversation of a program.
var userOnly = []string{"/logins", "/pairings", "/devices", "/devices/{id}", "/wire"}

// Besides reading, what a device may do that is not fully trusted.
var answerOnly = []string{"/sessions/{id}/answers", "/sessions/{id}/interrupt", "/sessions/{id}/tasks/{task}/stop"}

// What a device that is not fully trusted may not read: it sees what happens in sessions,
// and not the rest of the disk.
var fullOnly = []string{"/sessions/{id}/file", "/sessions/{id}/input", "/sessions/{id}/suggestions"}

// revokeTime is how long what a revoked device has open may stay so.
const revokeTime = time.Second
