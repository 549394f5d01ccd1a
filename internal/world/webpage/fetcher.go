package webpage

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
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

func parsePermit(text string) (permit, error) {
	var p permit
	host := strings.ToLower(strings.TrimSpace(text))
	if h, port, err := net.SplitHostPort(host); err == nil && !strings.Contains(host, "://") {
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

// admit judges the address that a host resolved to.
func (f *Fetcher) admit(host, address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refused{Host: host}
	}
	to := dialled{ap.Addr().Unmap(), strconv.Itoa(int(ap.Port()))}
	if f.public(to) {
		return nil
	}
	for _, p := range f.private {
		if p.covers(host, to) {
			return nil
		}
	}
	return &Refused{Host: host, Addr: to.ip}
}

// admitName judges a host that is not dialled by us, as far as its name tells.
func (f *Fetcher) admitName(host, port string) error {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		if name := strings.TrimSuffix(strings.ToLower(host), "."); name != "localhost" && !strings.HasSuffix(name, ".localhost") {
			return nil
		}
		ip = netip.IPv6Loopback()
	}
	if port == "" {
		port = "0"
	}
	return f.admit(host, net.JoinHostPort(ip.String(), port))
}

// Check says whether an address can be refused by its name alone, before anything is looked
// up or asked.
func (f *Fetcher) Check(address string) error {
	u, err := parse(address)
	if err != nil {
		return err
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	err = f.admitName(host, port)
	if err != nil && f.admit(host, net.JoinHostPort("127.0.0.1", port)) == nil { // localhost has two addresses
		if _, literal := netip.ParseAddr(host); literal != nil {
			return nil
		}
	}
	return err
}

// decode returns text as UTF-8; ok is false for what is not text. What the bytes
// say comes before what the server says, and a guess comes last: a byte-order mark,
// valid UTF-8, the declared charset, the letters.
func decode(raw []byte, contentType string) (text string, ok bool) {
	declared := declaredCodec(raw, contentType)
	if declared != nil && !marked(raw) && !meaningfulUTF8(raw) {
		if out, err := declared.NewDecoder().Bytes(raw); err == nil && !bytes.Contains(out, []byte{0}) {
			return clean(out), true
		}
	}
	found, err := textfile.Detect(raw)
	if err != nil {
		var binary *textfile.BinaryError
		if errors.As(err, &binary) {
			return "", false
		}
		return clean(raw), true
	}
	raw = bytes.TrimPrefix(raw, found.BOM())
	if codec := found.Codec(); codec != nil {
		if out, err := codec.NewDecoder().Bytes(raw); err == nil {
			raw = out
		}
	}
	return clean(raw), true
}

func clean(text []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\r\n", "\n")
}

// marked reports whether text begins with a byte-order mark.
func marked(raw []byte) bool {
	for _, bom := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(raw, []byte(bom)) {
			return true
		}
	}
	return false
}

// meaningfulUTF8 reports whether text is UTF-8 and could hardly be anything else,
// as when a server calls all its pages ISO-8859-1.
func meaningfulUTF8(raw []byte) bool {
	return bytes.ContainsFunc(raw, func(r rune) bool { return r >= utf8.RuneSelf }) && utf8.Valid(raw)
}

// metaCharset is where HTML and XML name their charset.
var metaCharset = lazyregexp.New(`(?i)(?:<meta[^>]+charset|<\?xml[^>]+encoding)\s*=\s*["']?\s*([a-z0-9_:.-]+)`)

// declaredCodec returns the codec of the charset that the server or the page
// names; nil if none does, or if it is UTF-8.
func declaredCodec(raw []byte, contentType string) encoding.Encoding {
	var name string
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		name = params["charset"]
	}
	if name == "" {
		if m := metaCharset.FindSubmatch(raw[:min(len(raw), 4096)]); m != nil {
			name = string(m[1])
		}
	}
	codec, err := htmlindex.Get(strings.TrimSpace(name))
	if err != nil {
		return nil
	}
	if canonical, err := htmlindex.Name(codec); err != nil || canonical == "utf-8" || canonical == "replacement" {
		return nil
	}
	return codec
}

// read reads the body of a response.
func (f *Fetcher) read(ctx context.Context, u *url.URL, resp *http.Response) (*Page, error) {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, fmt.Errorf("the answer is compressed as %q, which was not requested", enc)
	}
	raw, cut, err := f.body(ctx, resp.Body)
	if err != nil {
		return nil, err
	}
	p := &Page{URL: u.String(), Status: resp.StatusCode, Bytes: len(raw), Cut: cut}
	declared := resp.Header.Get("Content-Type")
	p.MediaType, p.Kind = kindOf(declared, raw)
	switch {
	case p.Kind != Text && cut != "":
		return nil, fmt.Errorf("only part of the %s file was received: %s", p.MediaType, cut)
	case p.Kind != Text:
		p.Data = raw
		return p, nil
	}
	text, ok := decode(raw, declared)
	if !ok {
		return nil, fmt.Errorf("it is %s (%d bytes), which cannot be shown as text; download it with Bash if you need it", p.MediaType, len(raw))
	}
	p.show(u, text, int(f.opts.MaxBytes))
	return p, nil
}

// body reads as much as is allowed in size and time; cut says what ended it early.
func (f *Fetcher) body(ctx context.Context, r io.Reader) (raw []byte, cut string, err error) {
	raw, err = io.ReadAll(io.LimitReader(r, f.opts.MaxBytes+1))
	switch {
	case int64(len(raw)) > f.opts.MaxBytes:
		return raw[:f.opts.MaxBytes], fmt.Sprintf("it is larger than the limit of %d bytes", f.opts.MaxBytes), nil
	case err == nil:
		return raw, "", nil
	case len(raw) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return raw, fmt.Sprintf("the server did not send all of it within %s", f.opts.Timeout), nil
	case len(raw) > 0 && errors.Is(err, io.ErrUnexpectedEOF):
		return raw, "the connection was closed before the end", nil
	}
	return nil, "", err
}

// images are the kinds of image that a model can be shown.
var images = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// kindOf tells what a body is: by its first bytes where they are clear, by what the
// server says otherwise.
func kindOf(declared string, raw []byte) (string, Kind) {
	sniffed, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	switch {
	case images[sniffed]:
		return sniffed, Image
	case sniffed == "application/pdf":
		return sniffed, PDF
	}
	media, _, err := mime.ParseMediaType(declared)
	if err != nil || media == "application/octet-stream" {
		return sniffed, Text
	}
	return media, Text
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
