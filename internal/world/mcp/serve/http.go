package serve

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/loopback"
)

// HTTPOptions configure a handler. Nil means all zero values.
type HTTPOptions struct {
	// Token must be sent with every request, as a bearer token; "" means that none is needed,
	// and that only requests on loopback addresses are answered.
	Token string
	// Origins are the origins whose pages may call the server, such as
	// https://app.example.com, in addition to loopback origins.
	Origins []string
}

const (
	maxBody     = 32 << 20         // of a request
	idleSession = 30 * time.Minute // after which a session of the older era ends
	newEra      = "2026-07-28"
)

// eras sends a request to the handler of the protocol that it speaks.
type eras struct{ older, newer http.Handler }

func (e *eras) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.old(w, r) {
		e.older.ServeHTTP(w, r)
		return
	}
	e.newer.ServeHTTP(w, r)
}

// old tells by what only the older era has: sessions, streams that are opened by
// GET, its version numbers, and a first message without any.
func (e *eras) old(w http.ResponseWriter, r *http.Request) bool {
	version := r.Header.Get("Mcp-Protocol-Version")
	switch {
	case r.Header.Get("Mcp-Session-Id") != "":
		return true
	case version != "":
		return version < newEra
	case r.Method != http.MethodPost:
		return true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	return !bytes.Contains(body, []byte("io.modelcontextprotocol/protocolVersion")) && first(body) != "server/discover"
}

// failing is the end of a body, as it came.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// first returns the method of a message, "" if there is none.
func first(body []byte) string {
	var message struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &message) != nil {
		return ""
	}
	return message.Method
}

// A guard lets in who may call.
type guard struct {
	opts HTTPOptions
	next http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !g.hostOK(r):
		http.Error(w, "This server does not accept the host name "+r.Host+".", http.StatusForbidden)
	case !g.originOK(r.Header.Get("Origin")):
		http.Error(w, "Pages from this origin may not call this server. Start it with --origin to allow them.", http.StatusForbidden)
	case !g.tokenOK(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", `Bearer realm="haft"`)
		http.Error(w, "The token is missing or wrong. Send the token that this server was started with.", http.StatusUnauthorized)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// hostOK keeps out pages that reach a loopback address by a name of their own.
// With a token they are kept out by not knowing it.
func (g *guard) hostOK(r *http.Request) bool {
	return g.opts.Token != "" || loopback.Host(hostname(r.Host)) && loopback.Host(localHost(r))
}

// localHost is the address that the connection came in on.
func localHost(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return "" // not by a network that we know
	}
	return hostname(addr.String())
}

func (g *guard) originOK(origin string) bool {
	if origin == "" || slices.Contains(g.opts.Origins, origin) {
		return true // programs send none, browsers always do
	}
	u, err := url.Parse(origin)
	return err == nil && loopback.Host(u.Hostname())
}

func (g *guard) tokenOK(header string) bool {
	if g.opts.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(header, " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(token), []byte(g.opts.Token)) == 1
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.Trim(hostport, "[]")
	}
	return host
}
