package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/handshake"
)

// A door is whom the server lets in: who has its token or has paired, and under which names it is called.
type door struct {
	opts  Options
	pages pages
	shake *handshake.Server
	hosts map[string]string // the schemes of the names that it is called by
	port  string
	tries limiter // of tokens
	codes limiter // of those that pair, apart: who guesses tokens keeps no device out
}

// foreign refuses what another site's page has a browser send, whatever the method: under
// a name that is not this server's (DNS rebinding), or from another origin.
func (s *door) foreign(r *http.Request) *Problem {
	scheme, known := s.hosts[strings.ToLower(r.Host)]
	if !known {
		return &Problem{status: http.StatusMisdirectedRequest, Code: "wrong_host", Message: fmt.Sprintf("This server is not called %q. Use the address that it printed, or allow the name with --host.", r.Host)}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && !opensPage(r) {
		return &Problem{status: http.StatusForbidden, Code: "cross_site", Message: "This request came from another site. Open the address that haft serve printed."}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !strings.EqualFold(origin, scheme+r.Host) {
		return &Problem{status: http.StatusForbidden, Code: "cross_site", Message: fmt.Sprintf("This request came from a page on %q. Open the address that haft serve printed.", origin)}
	}
	return nil
}

// known returns the request of a client that has a credential; a paired device is then in its
// context. Others are refused. Cookies are none: browsers send them to every port of a host.
func (s *door) known(r *http.Request) (*http.Request, *Problem) {
	if has, valid := s.shake.Knows(r); has && valid {
		return r, nil
	} else if has {
		return r, &Problem{status: http.StatusUnauthorized, Code: "old_ticket", Message: "The server was restarted. Ask for its proof again."}
	}
	token := credential(r)
	if token == "" {
		return r, &Problem{status: http.StatusUnauthorized, Code: "no_token", Message: "The token is missing. Open the address that haft serve printed, or send the token in the header Authorization: Bearer."}
	}
	if same(token, s.opts.Token) || s.pages.has(token) {
		return r, nil
	}
	if s.opts.Devices != nil {
		if d, ok := s.opts.Devices.of(token); ok {
			return r.WithContext(context.WithValue(r.Context(), deviceKey{}, &d)), nil
		}
	}
	return r, s.wrongToken(r)
}

// wrongToken refuses a token, and slows down who has guessed too often. The right one always
// passes: behind a tunnel, who guesses has the address of the user.
func (s *door) wrongToken(r *http.Request) *Problem {
	from, _, _ := net.SplitHostPort(r.RemoteAddr) // without one, all share a limit
	if !s.tries.allowed(from, time.Now()) {
		return &Problem{status: http.StatusTooManyRequests, Code: "too_many_tries", Message: "Too many wrong tokens. Wait a minute and try again."}
	}
	s.tries.failed(from, time.Now())
	return &Problem{status: http.StatusUnauthorized, Code: "wrong_token", Message: "The token is wrong. Use the latest one that haft serve printed."}
}

// loginRoutes are those by which a client becomes known.
func (s *door) loginRoutes() []route {
	return []route{
		takes(http.StatusOK, "POST", "/login", "Exchange a login code for a token for this browser, which ends with the server", s.login),
		takes(http.StatusOK, "POST", "/pair", "Exchange a pairing code for a token for this device", s.pair),
		answers(http.StatusCreated, "POST", "/logins", "Create a login code, which works once, within ten minutes", s.makeLogin),
		answers(http.StatusOK, "GET", strings.TrimPrefix(handshake.Path, "/v1"), "Prove that this server knows the token, before a client sends anything", s.hello, parameter{"nonce", "26 random characters"}),
	}
}

// makeLogin makes a code for another browser.
func (s *door) makeLogin(*http.Request) (Code, error) {
	if s.opts.Logins == nil {
		return Code{}, errNoLogins
	}
	code, err := s.opts.Logins.New()
	return Code{code}, err
}

// login lets a browser in that has a code.
func (s *door) login(r *http.Request, in *Code) (Credential, error) {
	if s.opts.Logins == nil {
		return Credential{}, errNoLogins
	}
	err := s.try(r, "The login code was already used, has expired, or belongs to an earlier run of the server. Run 'haft serve' on the machine where the server runs, and open the address that it prints.", func() error { return s.opts.Logins.use(in.Code) })
	if err != nil {
		return Credential{}, err
	}
	return Credential{s.pages.add()}, nil
}

// pair makes a device known that has the code.
func (s *door) pair(r *http.Request, in *Code) (c Credential, err error) {
	if s.opts.Devices == nil {
		return c, errNoDevices
	}
	err = s.try(r, "The code is wrong, was already used, or is older than a minute. Create another one.", func() (err error) {
		c.Token, err = s.opts.Devices.exchange(in.Code, cmp.Or(deviceName(r.UserAgent()), "Another device"))
		return err
	})
	return c, err
}

// try uses a code, unless the client has guessed too often.
func (s *door) try(r *http.Request, wrong string, use func() error) error {
	from, _, _ := net.SplitHostPort(r.RemoteAddr) // without one, all share a limit
	if !s.codes.allowed(from, time.Now()) {
		return &Problem{status: http.StatusTooManyRequests, Code: "too_many_tries", Message: "Too many wrong codes. Wait a minute and try again."}
	}
	err := use()
	if errors.Is(err, errWrongCode) {
		s.codes.failed(from, time.Now())
		return &Problem{status: http.StatusUnauthorized, Code: "wrong_code", Message: wrong}
	}
	return err
}

// hello proves that the server knows the token.
func (s *door) hello(r *http.Request) (handshake.Hello, error) {
	h, err := s.shake.Hello(r)
	if err != nil {
		return h, invalid("%v", err)
	}
	return h, nil
}

// openAPI serves the description of the API.
func (s *door) openAPI(w http.ResponseWriter, _ *http.Request) {
	text, err := unpack(described)
	if err != nil {
		refuse(w, problem(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // who asked may be gone
}

// page serves the files of the page. The page itself has the addresses of sessions and
// questions, too.
func (s *door) page(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "Only GET is allowed here.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || strings.HasPrefix(name, "s/") || strings.HasPrefix(name, "q/") {
		name = "index.html"
	}
	kind, known := kinds[path.Ext(name)]
	if s.opts.Files == nil || !known || !fs.ValidPath(name) {
		http.NotFound(w, r)
		return
	}
	text, err := fs.ReadFile(s.opts.Files, name)
	packed := err != nil
	if packed {
		text, err = fs.ReadFile(s.opts.Files, name+".gz")
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	tag := sha256.Sum256(text)
	etag := hex.EncodeToString(tag[:16])
	if packed {
		h.Set("Vary", "Accept-Encoding") // also if it has not changed: caches keep what this says
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			etag += "-gzip"
		} else if text, err = unpack(text); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if name != "index.html" {
		// The browser keeps it, compiled, and asks whether it is still the same.
		h.Set("ETag", `"`+etag+`"`)
		h.Set("Cache-Control", "no-cache")
		if unchanged(r.Header.Values("If-None-Match"), etag) {
			h.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // who asked may be gone
}

// pairRoutes are those about devices.
func (s *door) pairRoutes() []route {
	return []route{
		takes(http.StatusCreated, "POST", "/pairings", "Create a code that pairs one device; it is valid for a minute", s.makePairing),
		answers(http.StatusOK, "GET", "/devices", "The paired devices", s.getDevices),
		answers(http.StatusNoContent, "DELETE", "/devices/{id}", "Revoke a device's access", s.revokeDevice),
	}
}

// makePairing makes a code, with the drawing that a phone's camera reads.
func (s *door) makePairing(r *http.Request, in *NewPairing) (Pairing, error) {
	if s.opts.Devices == nil {
		return Pairing{}, errNoDevices
	}
	base := s.reachable(r)
	if base == "" {
		return Pairing{}, &Problem{status: http.StatusConflict, Code: "unreachable", Message: Unreachable}
	}
	return s.opts.Devices.NewPairing(base, in.Full)
}

// reachable is the address by which other machines call this server, "" if there is none.
func (s *door) reachable(r *http.Request) string {
	for _, host := range append([]string{s.hosts[strings.ToLower(r.Host)] + r.Host}, s.opts.Hosts...) {
		if base := Address(host, s.port, s.opts.Secure); Reachable(base) {
			return base
		}
	}
	return ""
}

func (s *door) getDevices(*http.Request) (DeviceList, error) {
	if s.opts.Devices == nil {
		return DeviceList{Devices: []Device{}}, nil
	}
	list, err := s.opts.Devices.List()
	return DeviceList{list}, err
}

func (s *door) revokeDevice(r *http.Request) (noBody, error) {
	err := error(ErrNoDevice)
	if s.opts.Devices != nil {
		err = s.opts.Devices.Revoke(r.PathValue("id"))
	}
	if errors.Is(err, ErrNoDevice) {
		err = &Problem{status: http.StatusNotFound, Code: "no_device", Message: "There is no device with the id " + r.PathValue("id") + "."}
	}
	return noBody{}, err
}

// limited refuses what the device that asks may not do. A stream ends when its device is
// revoked.
func (s *door) limited(rt route) http.HandlerFunc {
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

// endIfRevoked ends a request when its device is not known any more.
func (s *door) endIfRevoked(ctx context.Context, cancel context.CancelFunc, r *http.Request) {
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
