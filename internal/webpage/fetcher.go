package webpage

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/publicip"
)

// Options configure a [Fetcher]. A nil *Options means all zero values.
type Options struct {
	// Private names what may be reached beyond the public internet: hosts such as
	// localhost or *.corp.example, addresses and networks such as 10.0.0.0/8, each
	// with or without a :port. Nil means nothing.
	Private []string
	// Proxy chooses the proxy of a request, as [http.Transport] takes it; nil means none.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver looks names up; nil means that of the system.
	Resolver *net.Resolver
	// TLS is how servers are verified; nil means by the system's roots.
	TLS *tls.Config
	// Timeout is for a page with all its redirects; 0 means a minute.
	Timeout time.Duration
	// MaxBytes is how much of a page is read, decompressed; 0 means 10 MB.
	MaxBytes int64
	// KeepFor is how long a page is kept; 0 means 15 minutes.
	KeepFor time.Duration
}

// A Fetcher fetches pages.
type Fetcher struct {
	opts    Options
	private []permit
	public  func(addr dialled) bool // replaced by tests
	direct  *http.Client
	proxied *http.Client
	slots   chan struct{} // bounds how many pages are in memory at the same time
	cache   cache
}

const (
	maxRedirects  = 10
	maxHeader     = 256 << 10
	maxConcurrent = 8
	dialPatience  = 15 * time.Second
)

// New returns a fetcher. It fails if the options cannot be understood.
func New(opts *Options) (*Fetcher, error) {
	f := &Fetcher{slots: make(chan struct{}, maxConcurrent), public: dialled.public}
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.Timeout == 0 {
		f.opts.Timeout = time.Minute
	}
	if f.opts.MaxBytes == 0 {
		f.opts.MaxBytes = 10 << 20
	}
	if f.opts.KeepFor == 0 {
		f.opts.KeepFor = 15 * time.Minute
	}
	for _, text := range f.opts.Private {
		p, err := parsePermit(text)
		if err != nil {
			return nil, err
		}
		f.private = append(f.private, p)
	}
	f.direct, f.proxied = f.client(nil, f.dial), f.client(f.opts.Proxy, new(net.Dialer).DialContext)
	return f, nil
}

func (d dialled) public() bool { return publicip.Is(d.ip) }

func parsePermit(text string) (permit, error) {
	var p permit
	host := strings.ToLower(strings.TrimSpace(text))
	if h, port, err := net.SplitHostPort(host); err == nil {
		host, p.port = h, port
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return p, fmt.Errorf("%q: %q is not a port", text, port)
		}
	}
	host = strings.Trim(host, "[]")
	if prefix, err := netip.ParsePrefix(host); err == nil {
		p.net = prefix.Masked()
		return p, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		p.net = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen())
		return p, nil
	}
	if host == "" || strings.ContainsAny(host, "/@: ") || strings.Contains(strings.TrimPrefix(host, "*."), "*") {
		return p, fmt.Errorf("%q is not a host, address or network: write localhost:3000, *.corp.example or 10.0.0.0/8", text)
	}
	p.host = strings.TrimSuffix(host, ".")
	return p, nil
}

// client returns one that follows nothing and keeps nothing.
func (f *Fetcher) client(proxy func(*http.Request) (*url.URL, error), dial func(context.Context, string, string) (net.Conn, error)) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: proxy, DialContext: dial, TLSClientConfig: f.opts.TLS,
			DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
		},
	}
}

// dial connects to a host if its address may be reached. The address is judged by
// the socket that is about to be connected.
func (f *Fetcher) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout: dialPatience, Resolver: f.opts.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error { return f.admit(host, address) },
	}
	return d.DialContext(ctx, network, hostPort)
}

// Get fetches a page. A page that redirects to another host comes back with
// Redirect set. Errors are written to be read.
func (f *Fetcher) Get(ctx context.Context, address string) (*Page, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	if p := f.cache.get(u.String()); p != nil {
		return p, nil
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	bounded, cancel := context.WithTimeout(ctx, f.opts.Timeout)
	defer cancel()
	p, err := f.follow(bounded, u)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && bounded.Err() != nil:
		return nil, fmt.Errorf("there was no answer within %s", f.opts.Timeout)
	case err != nil:
		return nil, plain(err)
	}
	if p.Status == http.StatusOK && p.Redirect == "" && p.Cut == "" {
		f.cache.put(u.String(), p, f.opts.KeepFor)
	}
	return p, nil
}

func (c *cache) get(address string) *Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	for _, k := range c.pages {
		if k.address == address {
			return k.page
		}
	}
	return nil
}

func (c *cache) put(address string, p *Page, keepFor time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages = slices.DeleteFunc(c.pages, func(k kept) bool { return k.address == address })
	c.pages = append(c.pages, kept{address, p, time.Now().Add(keepFor)})
	c.sweep()
}

// parse reads an address that a page can be fetched from.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the address is not valid: %w", plain(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the address must start with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("the address has no host")
	case u.User != nil:
		return nil, errors.New("the address contains a user name or password, which haft does not send; leave them out")
	}
	u.Fragment, u.RawFragment = "", ""
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// follow fetches a page and the pages of the same host that it redirects to.
func (f *Fetcher) follow(ctx context.Context, u *url.URL) (*Page, error) {
	for range maxRedirects + 1 {
		resp, err := f.request(ctx, u)
		if err != nil {
			return nil, err
		}
		next, err := redirect(resp, u)
		if err != nil || next == nil {
			defer resp.Body.Close()
			if err != nil {
				return nil, err
			}
			return f.read(ctx, u, resp)
		}
		resp.Body.Close()
		if !sameHost(u, next) {
			if err := f.admitName(next.Hostname(), next.Port()); err != nil {
				return nil, fmt.Errorf("it redirects to %s: %w", next, err)
			}
			return &Page{URL: u.String(), Status: resp.StatusCode, Redirect: next.String()}, nil
		}
		u = next
	}
	return nil, fmt.Errorf("it redirects more than %d times", maxRedirects)
}

// request sends one request. Nothing in it says who asks.
func (f *Fetcher) request(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; haft; +https://github.com/haftdev/haft)")
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5")
	req.Header.Set("Accept-Language", "en, *;q=0.5")
	if f.opts.Proxy != nil {
		switch through, err := f.opts.Proxy(req); {
		case err != nil:
			return nil, fmt.Errorf("the proxy settings are not valid: %w", err)
		case through != nil:
			if err := f.admitName(u.Hostname(), u.Port()); err != nil {
				return nil, err
			}
			return f.proxied.Do(req)
		}
	}
	return f.direct.Do(req)
}

// redirect returns where a response leads; nil if it is the page itself.
func redirect(resp *http.Response, from *url.URL) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	to := resp.Header.Get("Location")
	if to == "" {
		return nil, nil
	}
	next, err := from.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("it redirects to %q, which is not a valid address: %w", to, plain(err))
	}
	next.User = nil
	if next, err = parse(next.String()); err != nil {
		return nil, fmt.Errorf("it redirects to %q: %w", to, err)
	}
	return next, nil
}

// sameHost reports whether a redirect stays where it was allowed to go. To go over
// to https is to stay.
func sameHost(from, to *url.URL) bool {
	if from.Hostname() != to.Hostname() {
		return false
	}
	upgrade := from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
	return upgrade || from.Scheme == to.Scheme && from.Port() == to.Port()
}

// plain takes away what package http wraps errors in: the method, the address, and
// around a refusal the attempt to dial.
func plain(err error) error {
	var wrapped *url.Error
	if !errors.As(err, &wrapped) {
		return err
	}
	var refused *Refused
	if errors.As(wrapped, &refused) {
		return refused
	}
	return wrapped.Err
}
