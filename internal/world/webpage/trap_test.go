package webpage

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/haftdev/haft/internal/test/needtest"
)

// traps is a server on the loopback that tests take for one of the public
// internet; everything else on the loopback is private to them as it is to users.
type traps struct {
	*httptest.Server
	mux *http.ServeMux
}

func newTraps(t *testing.T) *traps {
	s := &traps{mux: http.NewServeMux()}
	s.Server = httptest.NewServer(s.mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *traps) handle(path string, h http.HandlerFunc) string {
	s.mux.HandleFunc(path, h)
	return s.URL + path
}

func (s *traps) fetcher(t *testing.T, opts *Options) *Fetcher {
	t.Helper()
	f, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	own, _ := url.Parse(s.URL)
	f.public = func(d dialled) bool { return d.port == own.Port() || d.public() }
	return f
}

// vault is a server that nobody may reach.
func vault(t *testing.T) (*httptest.Server, *atomic.Int32) {
	var hits atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		io.WriteString(w, "secret")
	}))
	t.Cleanup(s.Close)
	return s, &hits
}

// wantError checks that err says all the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got error %v, want one that says %q", err, w)
		}
	}
}

func TestAPrivateAddressIsRefused(t *testing.T) {
	private, hits := vault(t)
	f, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	port := private.Listener.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "127.1.2.3"} {
		t.Run(host, func(t *testing.T) {
			if host == "localhost" {
				needtest.Need(t, needtest.Resolver)
			}
			_, err := f.Get(t.Context(), fmt.Sprintf("http://%s:%d/", host, port))
			var refused *Refused
			if !errors.As(err, &refused) {
				t.Error(err)
			}
		})
	}
	if hits.Load() > 0 {
		t.Error("a connection was made")
	}
}

func TestAPrivateAddressCanBeAllowed(t *testing.T) {
	private, _ := vault(t)
	port := private.Listener.Addr().(*net.TCPAddr).Port
	for _, c := range []struct {
		allow string
		ok    bool
	}{
		{"127.0.0.1", true}, {"127.0.0.0/8", true}, {fmt.Sprintf("127.0.0.1:%d", port), true},
		{"127.0.0.1:1", false}, {"10.0.0.0/8", false}, {"localhost", false},
	} {
		f, err := New(&Options{Private: []string{c.allow}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Get(t.Context(), private.URL); (err == nil) != c.ok {
			t.Errorf("allowed %s: %v", c.allow, err)
		}
	}
	for _, bad := range []string{"", "http://x", "a b", "*", "a.*.b", "10.0.0.0/99"} {
		if _, err := New(&Options{Private: []string{bad}}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestARedirectToAPrivateAddressIsNotFollowed(t *testing.T) {
	s := newTraps(t)
	private, hits := vault(t)
	for i, to := range []string{private.URL, "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://localhost:1/", "http://metadata.localhost/"} {
		address := s.handle(fmt.Sprintf("/%d", i), func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		_, err := s.fetcher(t, nil).Get(t.Context(), address)
		wantError(t, err, "redirects to", "not on the public internet")
	}
	for i, to := range []string{"file:///etc/passwd", "gopher://x/", "javascript:alert(1)"} {
		address := s.handle(fmt.Sprintf("/scheme%d", i), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		_, err := s.fetcher(t, nil).Get(t.Context(), address)
		wantError(t, err, "it redirects to")
	}
	if hits.Load() > 0 {
		t.Error("the private server was reached")
	}
}

func TestARedirectToAnotherHostIsReported(t *testing.T) {
	s := newTraps(t)
	address := s.handle("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://user:pass@elsewhere.example/page?x=1#part", http.StatusMovedPermanently)
	})
	p, err := s.fetcher(t, nil).Get(t.Context(), address)
	if err != nil || p.Redirect != "https://elsewhere.example/page?x=1" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestARedirectOnTheSameHostIsFollowedAndEnds(t *testing.T) {
	s := newTraps(t)
	s.handle("/end", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") })
	address := s.handle("/start", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/end", http.StatusFound) })
	p, err := s.fetcher(t, nil).Get(t.Context(), address)
	if err != nil || p.Text != "here" || p.URL != s.URL+"/end" {
		t.Errorf("%+v, %v", p, err)
	}
	loop := s.handle("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	_, err = s.fetcher(t, nil).Get(t.Context(), loop)
	wantError(t, err, "redirects more than 10 times")
}

// TestAChangingNameCannotLeadToAPrivateAddress has a name server that answers with
// a public address first and with a private one from then on.
func TestAChangingNameCannotLeadToAPrivateAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on its loopback")
	}
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := outside.Addr().(*net.TCPAddr).Port
	inside, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", port))
	if err != nil {
		t.Skipf("the second address has no such port: %v", err)
	}
	var secret atomic.Int32
	public := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })}
	private := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { secret.Add(1) })}
	go public.Serve(outside)
	go private.Serve(inside)
	defer public.Close()
	defer private.Close()

	resolver, asked := nameServer(t, func(n int32) [4]byte { return [4]byte{127, 0, 0, byte(min(n, 2))} })
	f, err := New(&Options{Resolver: resolver})
	if err != nil {
		t.Fatal(err)
	}
	f.public = func(d dialled) bool { return d.ip.String() == "127.0.0.1" }
	_, err = f.Get(t.Context(), fmt.Sprintf("http://rebind.test:%d/", port))
	wantError(t, err, "rebind.test is at 127.0.0.2, which is not on the public internet")
	if secret.Load() > 0 || asked.Load() < 2 {
		t.Errorf("%d private connections, %d look-ups", secret.Load(), asked.Load())
	}
}

// nameServer answers the n-th question for an address with answer(n).
func nameServer(t *testing.T, answer func(n int32) [4]byte) (*net.Resolver, *atomic.Int32) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var asked atomic.Int32
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: answer(asked.Add(1))},
				}}
			}
			if out, err := m.Pack(); err == nil {
				conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}, &asked
}

func TestASlowDripIsBoundedInTime(t *testing.T) {
	s := newTraps(t)
	address := s.handle("/", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, "drip ")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	began := time.Now()
	p, err := s.fetcher(t, &Options{Timeout: 300 * time.Millisecond}).Get(t.Context(), address)
	if err != nil || !strings.HasPrefix(p.Text, "drip drip") || p.Cut != "the server did not send all of it within 300ms" {
		t.Errorf("%+v, %v", p, err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
	silent := s.handle("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err = s.fetcher(t, &Options{Timeout: 100 * time.Millisecond}).Get(t.Context(), silent)
	wantError(t, err, "there was no answer within 100ms")
}

func TestAGigabyteIsBoundedInSize(t *testing.T) {
	s := newTraps(t)
	const most = 1 << 20
	var sent atomic.Int64
	address := s.handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		block := []byte(strings.Repeat("all work and no play\n", 1000))
		for sent.Load() < 1<<30 {
			n, err := w.Write(block)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	p, err := s.fetcher(t, &Options{MaxBytes: most}).Get(t.Context(), address)
	if err != nil || p.Bytes != most || !strings.Contains(p.Cut, "larger than the limit of 1048576 bytes") {
		t.Errorf("%d bytes, cut %q, %v", p.Bytes, p.Cut, err)
	}
	if sent.Load() > 64<<20 {
		t.Errorf("%d bytes were taken from the server", sent.Load())
	}
}

func TestABombOfGzipIsBoundedInMemory(t *testing.T) {
	s := newTraps(t)
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	z.Write(bytes.Repeat([]byte("0"), 1<<20))
	z.Close()
	bomb := bytes.Repeat(member.Bytes(), 1000) // a gigabyte in a megabyte
	address := s.handle("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb)
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := s.fetcher(t, &Options{MaxBytes: 1 << 20}).Get(t.Context(), address)
	runtime.ReadMemStats(&after)
	if err != nil || p.Bytes != 1<<20 || p.Cut == "" {
		t.Errorf("%+v, %v", p, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d bytes were allocated for a megabyte", grown)
	}
	odd := s.handle("/br", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		io.WriteString(w, "x")
	})
	_, err = s.fetcher(t, nil).Get(t.Context(), odd)
	wantError(t, err, `compressed as "br", which was not requested`)
}

func TestHeadersAreBounded(t *testing.T) {
	s := newTraps(t)
	address := s.handle("/", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 1000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
		}
	})
	_, err := s.fetcher(t, nil).Get(t.Context(), address)
	wantError(t, err, "exceeded")
}

func TestNothingSaysWhoAsks(t *testing.T) {
	s := newTraps(t)
	var seen []http.Header
	s.handle("/b", func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "2", Path: "/"})
		io.WriteString(w, "done")
	})
	address := s.handle("/a", func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1", Path: "/"})
		host := strings.TrimPrefix(s.URL, "http://")
		w.Header().Set("Location", "http://user:password@"+host+"/b")
		w.WriteHeader(http.StatusFound)
	})
	f := s.fetcher(t, nil)
	for _, a := range []string{address, address + "?again"} {
		if _, err := f.Get(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 4 {
		t.Fatalf("%d requests", len(seen))
	}
	for _, h := range seen {
		for _, name := range []string{"Cookie", "Authorization", "Proxy-Authorization", "Referer"} {
			if v := h.Get(name); v != "" {
				t.Errorf("%s: %s was sent", name, v)
			}
		}
	}
	_, err := f.Get(t.Context(), "https://user:password@example.com/")
	wantError(t, err, "user name or password")
}

func TestAProxyIsNotAWayIn(t *testing.T) {
	s := newTraps(t)
	through := 0
	s.handle("/", func(w http.ResponseWriter, _ *http.Request) {
		through++
		io.WriteString(w, "from the proxy")
	})
	proxy, _ := url.Parse(s.URL)
	f, err := New(&Options{Proxy: http.ProxyURL(proxy)})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := f.Get(t.Context(), "http://example.com/"); err != nil || p.Text != "from the proxy" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "169.254.169.254", "[::1]"} {
		_, err := f.Get(t.Context(), "http://"+host+"/")
		wantError(t, err, "not on the public internet")
	}
	if through != 1 {
		t.Errorf("%d requests went through the proxy", through)
	}
}
