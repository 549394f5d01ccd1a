package cloud

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// frame writes one as the service does.
func frame(headers map[string]string, payload string) []byte {
	var h bytes.Buffer
	for name, value := range headers {
		h.WriteByte(byte(len(name)))
		h.WriteString(name)
		h.WriteByte(7)
		_ = binary.Write(&h, binary.BigEndian, uint16(len(value)))
		h.WriteString(value)
	}
	var b bytes.Buffer
	_ = binary.Write(&b, binary.BigEndian, uint32(16+h.Len()+len(payload)))
	_ = binary.Write(&b, binary.BigEndian, uint32(h.Len()))
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
	b.Write(h.Bytes())
	b.WriteString(payload)
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
	return b.Bytes()
}

func chunk(event string) []byte {
	return frame(map[string]string{":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"}, fmt.Sprintf(`{"bytes":%q}`, base64.StdEncoding.EncodeToString([]byte(event))))
}

func read(raw []byte) (string, error) {
	f := &frames{from: bufio.NewReader(bytes.NewReader(raw)), close: func() error { return nil }}
	text, err := io.ReadAll(f)
	return string(text), err
}

func TestFramesBecomeEvents(t *testing.T) {
	raw := append(chunk(`{"type":"message_stop"}`), frame(map[string]string{":message-type": "exception", ":exception-type": "throttlingException"}, `{"message":"slow down"}`)...)
	got, err := read(raw)
	want := "data: {\"type\":\"message_stop\"}\n\ndata: {\"error\":{\"message\":\"throttlingException: slow down\",\"type\":\"rate_limit_error\"},\"type\":\"error\"}\n\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestDamagedFramesEndTheAnswer changes each byte, and cuts at each.
func TestDamagedFramesEndTheAnswer(t *testing.T) {
	whole := chunk(`{"type":"ping"}`)
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x40
		if got, err := read(damaged); err == nil || strings.Contains(got, "data:") {
			t.Fatalf("byte %d changed: %q, %v", i, got, err)
		}
		if got, err := read(whole[:i]); i > 0 && (err == nil || got != "") {
			t.Fatalf("cut at %d: %q, %v", i, got, err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(chunk(`{"type":"ping"}`))
	f.Add([]byte("\x00\x00\x00\x10"))
	f.Fuzz(func(t *testing.T, raw []byte) { _, _ = read(raw) })
}
