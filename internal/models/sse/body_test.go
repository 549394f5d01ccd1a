package sse

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A body of many pieces, empty ones among them, arrives whole, also over a connection that is used again.
func TestABodyIsSentAsItsPieces(t *testing.T) {
	bodies := make(chan []byte, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		bodies <- got
		w.WriteHeader(http.StatusNoContent)
	}))
	defer srv.Close()
	client := newClient()
	defer client.CloseIdleConnections()
	for _, pieces := range []int{1, 3, 5000} {
		body, want := NewBody(pieces), []byte(nil)
		for i := range pieces {
			piece := bytes.Repeat([]byte{byte('a' + i%26)}, i%1500)
			body.Add(piece)
			want = append(want, piece...)
		}
		body.Add([]byte("end"))
		want = append(want, "end"...)
		for round := range 3 {
			req, err := (&Call{Client: client, URL: srv.URL, Header: http.Header{}, Body: body}).request(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := <-bodies; !bytes.Equal(got, want) {
				t.Fatalf("%d pieces, round %d: %d bytes arrived of %d", pieces, round, len(got), len(want))
			}
		}
	}
}

// The conversation is not copied to be sent: the connection gets the pieces.
func TestAConnectionGetsThePieces(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	body := NewBody(1)
	body.Add(bytes.Repeat([]byte("x"), 1<<20))
	reader := body.Reader().(*bodyReader)
	conn, err := newClient().Transport.(*http.Transport).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	allocated := testing.AllocsPerRun(5, func() {
		again := *reader
		if n, err := conn.(io.ReaderFrom).ReadFrom(&io.LimitedReader{R: &again, N: body.Len()}); n != body.Len() || err != nil {
			t.Fatal(n, err)
		}
	})
	if allocated > 8 {
		t.Errorf("%v allocations to send a body of one piece", allocated)
	}
}

// A server is not woken for the head of a request alone, and gets it first; what has no body does not wait for one.
func TestTheHeadIsSentWithTheBody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	arrived := make(chan string)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		all, _ := io.ReadAll(conn)
		arrived <- string(all)
	}()
	dialed, err := newClient().Transport.(*http.Transport).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := dialed.(*gatherConn)
	want := ""
	for _, c := range []struct {
		text string
		kept bool
	}{
		{"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", false},
		{"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", false},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", false},
		{"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nbody\r\n\r\n", false},
		{"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n", true},
	} {
		if _, err := conn.Write([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		if want += c.text; (conn.head != nil) != c.kept {
			t.Errorf("%q waits for a body: %v, want %v", c.text, !c.kept, c.kept)
		}
	}
	body := NewBody(2)
	body.Add([]byte("bo"))
	body.Add([]byte("dy"))
	if n, err := conn.ReadFrom(&io.LimitedReader{R: body.Reader(), N: 4}); n != 4 || err != nil {
		t.Fatalf("%d bytes of the body were sent: %v", n, err)
	}
	conn.Close()
	if got := <-arrived; got != want+"body" {
		t.Errorf("got %q, want %q", got, want+"body")
	}
}
