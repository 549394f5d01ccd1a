package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/sys/publicip"
)

// A Proxy connects confined commands to the hosts that they may reach and records the
// ones that it refused. It speaks HTTP and CONNECT and does not inspect the traffic. It
// runs outside the box, on a socket that belongs to the network inside.
//
// Each command has a pass of its own, which is part of the proxy's address in its
// environment. Commands can therefore be allowed different hosts, and each refusal can
// be attributed to a command.
type Proxy struct {
	server *http.Server
	direct *http.Transport // for requests that are no tunnels

	mu     sync.Mutex
	passes map[string]*Pass
}

// NewProxy serves a listener until Close. It closes the listener.
func NewProxy(l net.Listener) *Proxy {
	p := &Proxy{passes: map[string]*Pass{}}
	p.direct = &http.Transport{DialContext: dialPublic, DisableKeepAlives: true, ResponseHeaderTimeout: 2 * time.Minute, DisableCompression: true}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = p.server.Serve(l) }()
	return p
}

// Close ends all connections.
func (p *Proxy) Close() error { return p.server.Close() }

// A Pass is the right of one command to use the proxy. It is safe for concurrent
// use.
type Pass struct {
	proxy *Proxy
	token string
	reach func(host string, port int) error

	mu      sync.Mutex
	refused []string
}

// Issue makes a pass for a command. A nil reach refuses every host.
func (p *Proxy) Issue(reach func(host string, port int) error) *Pass {
	pass := &Pass{proxy: p, token: rand.Text(), reach: reach}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passes[pass.token] = pass
	return pass
}

// Refused lists the hosts, with ports, that the command tried to reach and was refused:
// each once, in the order of the first attempts.
func (p *Pass) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refused)
}

// Close makes the pass invalid.
func (p *Pass) Close() {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	delete(p.proxy.passes, p.token)
}

// Env returns the variables that make common programs use the proxy at port on 127.0.0.1.
func (p *Pass) Env(port int) []string {
	address := (&url.URL{Scheme: "http", User: url.UserPassword("haft", p.token), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}).String()
	const local = "localhost,127.0.0.1,::1"
	env := []string{"no_proxy=" + local, "NO_PROXY=" + local, "NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+address)
	}
	return env
}

// ServeHTTP answers one request of a command.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pass := p.passOf(r)
	if pass == nil {
		w.Header().Set("Proxy-Authenticate", `Basic realm="haft"`)
		http.Error(w, "haft: the request lacks the user name and password of the proxy address in the environment", http.StatusProxyAuthRequired)
		return
	}
	host, port, err := target(r)
	if err != nil {
		http.Error(w, "haft: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := pass.admit(host, port); err != nil {
		http.Error(w, "haft: the sandbox does not let this command reach "+net.JoinHostPort(host, strconv.Itoa(port))+": "+err.Error(), http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		pass.tunnel(w, r, host, port)
		return
	}
	p.forward(w, r)
}

func (p *Proxy) passOf(r *http.Request) *Pass {
	encoded, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	if !ok {
		return nil
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	_, token, _ := strings.Cut(string(decoded), ":")
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passes[token]
}

// target is whom a request is for, by a name that can be compared.
func target(r *http.Request) (host string, port int, err error) {
	address, fallback := r.Host, "443"
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			return "", 0, errors.New("a proxy needs an absolute http address, or CONNECT")
		}
		address, fallback = r.URL.Host, "80"
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		host, service = strings.Trim(address, "[]"), fallback
	}
	port, err = strconv.Atoi(service)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%q is not a port number", service)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '/' || c == '@' || c == '%' }) {
		return "", 0, fmt.Errorf("%q is not a valid host name", host)
	}
	return host, port, nil
}

var errOffline = errors.New("it runs without network access")

// maxRefused bounds what one command can make haft remember.
const maxRefused = 100

func (p *Pass) admit(host string, port int) error {
	err := errOffline
	if p.reach != nil {
		err = p.reach(host, port)
	}
	if err != nil {
		p.refuse(host, port)
	}
	return err
}

func (p *Pass) refuse(host string, port int) {
	name := net.JoinHostPort(host, strconv.Itoa(port))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < maxRefused && !slices.Contains(p.refused, name) {
		p.refused = append(p.refused, name)
	}
}

// tunnel joins a command and a host until either hangs up.
func (p *Pass) tunnel(w http.ResponseWriter, r *http.Request, host string, port int) {
	far, err := dialPublic(r.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		p.answerFailure(w, host, port, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(far, buffered)
		closeWrite(far)
	}()
	_, _ = io.Copy(near, far)
	closeWrite(near)
	<-sent
}

func (p *Pass) answerFailure(w http.ResponseWriter, host string, port int, err error) {
	if errors.Is(err, errPrivate) {
		p.refuse(host, port)
		http.Error(w, "haft: the sandbox does not let this command reach "+host+": "+errPrivate.Error(), http.StatusForbidden)
		return
	}
	http.Error(w, "haft: "+err.Error(), http.StatusBadGateway)
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// hopHeaders are between a program and its proxy.
var hopHeaders = []string{"Proxy-Authorization", "Proxy-Connection", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward passes on a request that is no tunnel.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, name := range hopHeaders {
		out.Header.Del(name)
	}
	response, err := p.direct.RoundTrip(out)
	if err != nil {
		host, port, _ := target(r)
		p.passOf(r).answerFailure(w, host, port, err)
		return
	}
	defer response.Body.Close()
	for _, name := range hopHeaders {
		response.Header.Del(name)
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(flushing{w, http.NewResponseController(w)}, response.Body)
}

// flushing passes on what arrives when it arrives.
type flushing struct {
	io.Writer
	c *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	return n, errors.Join(err, f.c.Flush())
}

var errPrivate = errors.New("its name resolves to a private address")

// dialPublic connects to a host. A name that leads into the local network is
// refused, by the address of the socket itself; an address that the rules allow
// as such is not.
func dialPublic(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	if host, _, _ := net.SplitHostPort(address); net.ParseIP(host) == nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if isPrivate(address) {
				return errPrivate
			}
			return nil
		}
	}
	return dialer.DialContext(ctx, network, address)
}

func isPrivate(address string) bool {
	ap, err := netip.ParseAddrPort(address)
	return err != nil || !publicip.Is(ap.Addr())
}
