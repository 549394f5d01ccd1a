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
	var got []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
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
			if !bytes.Equal(got, want) {
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
