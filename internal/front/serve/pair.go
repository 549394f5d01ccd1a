package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// pairRoutes are those about devices.
func (s *Server) pairRoutes() []route {
	return []route{
		takes(http.StatusCreated, "POST", "/pairings", "Create a code that pairs one device; it is valid for a minute", s.makePairing),
		answers(http.StatusOK, "GET", "/devices", "The paired devices", s.getDevices),
		answers(http.StatusNoContent, "DELETE", "/devices/{id}", "Revoke a device's access", s.revokeDevice),
	}
}

var errNoDevices = &Problem{status: http.StatusNotFound, Code: "no_pairing", Message: "This server does not pair devices."}

// makePairing makes a code, with the drawing that a phone's camera reads.
func (s *Server) makePairing(r *http.Request, in *NewPairing) (Pairing, error) {
	if s.opts.Devices == nil {
		return Pairing{}, errNoDevices
	}
	base := s.reachable(r)
	if base == "" {
		return Pairing{}, &Problem{status: http.StatusConflict, Code: "unreachable", Message: Unreachable}
	}
	return s.opts.Devices.NewPairing(base, in.Full)
}

// Unreachable says what to do about a server that a phone cannot call.
const Unreachable = "A phone cannot reach this server: it listens on this machine only. Start it with --host https://NAME, where NAME is the host name of a tunnel to it (such as 'tailscale serve'), or with --listen and a certificate. See 'haft help serve'."

// reachable is the address by which other machines call this server, "" if there is none.
func (s *Server) reachable(r *http.Request) string {
	for _, host := range append([]string{s.hosts[strings.ToLower(r.Host)] + r.Host}, s.opts.Hosts...) {
		if base := Address(host, s.port, s.opts.Secure); Reachable(base) {
			return base
		}
	}
	return ""
}

// Reachable reports whether an address can be called from another machine.
func Reachable(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback() && !ip.IsUnspecified())
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

func (s *Server) getDevices(*http.Request) (DeviceList, error) {
	if s.opts.Devices == nil {
		return DeviceList{Devices: []Device{}}, nil
	}
	list, err := s.opts.Devices.List()
	return DeviceList{list}, err
}

func (s *Server) revokeDevice(r *http.Request) (nothing, error) {
	err := error(ErrNoDevice)
	if s.opts.Devices != nil {
		err = s.opts.Devices.Revoke(r.PathValue("id"))
	}
	if errors.Is(err, ErrNoDevice) {
		err = &Problem{status: http.StatusNotFound, Code: "no_device", Message: "There is no device with the id " + r.PathValue("id") + "."}
	}
	return nothing{}, err
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
var fullOnly = []string{"/sessions/{id}/file"}

// limited refuses what the device that asks may not do. A stream ends when its device is
// revoked.
func (s *Server) limited(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d := deviceOf(r)
		if d == nil {
			rt.serve(w, r)
			return
		}
		if slices.Contains(userOnly, rt.path) {
			refuse(w, &Problem{status: http.StatusForbidden, Code: "not_allowed", Message: "A paired device may not do this. Use the page on the machine where the server runs."})
			return
		}
		if !d.Full {
			w.Header().Set("Haft-Access", "answer") // the page hides the rest
			if rt.method != http.MethodGet && !slices.Contains(answerOnly, rt.path) || slices.Contains(fullOnly, rt.path) {
				refuse(w, &Problem{status: http.StatusForbidden, Code: "not_allowed", Message: "This device may only watch and answer. To do more with it, pair it again with 'haft serve --pair=full'."})
				return
			}
		}
		if strings.HasSuffix(rt.path, "/events") {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			go s.endIfRevoked(ctx, cancel, r)
			r = r.WithContext(ctx)
		}
		rt.serve(w, r)
	}
}

// revokeTime is how long what a revoked device has open may stay so.
const revokeTime = time.Second

// endIfRevoked ends a request when its device is not known any more.
func (s *Server) endIfRevoked(ctx context.Context, cancel context.CancelFunc, r *http.Request) {
	look := time.NewTicker(revokeTime)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if _, known := s.opts.Devices.of(credential(r)); !known {
				cancel()
				return
			}
		}
	}
}
