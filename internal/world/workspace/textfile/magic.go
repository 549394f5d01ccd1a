package textfile

import "bytes"

// magic numbers name the kind of a binary file. weak ones are short enough to begin a text by chance and count only when
// a NUL byte follows.
var magics = []struct {
	at     int
	prefix string
	kind   string
	weak   bool
}{
	{0, "\x89PNG\r\n\x1a\n", "PNG image", false},
	{0, "\xff\xd8\xff", "JPEG image", false},
	{0, "GIF87a", "GIF image", false},
	{0, "GIF89a", "GIF image", false},
	{8, "WEBPVP8", "WebP image", false},
	{0, "BM", "BMP image", true},
	{0, "II*\x00", "TIFF image", false},
	{0, "MM\x00*", "TIFF image", false},
	{0, "\x00\x00\x01\x00", "icon", false},
	{0, "%PDF-", "PDF document", false},
	{0, "PK\x03\x04", "ZIP archive (also docx, xlsx, jar, apk)", false},
	{0, "PK\x05\x06", "empty ZIP archive", false},
	{0, "\x1f\x8b", "gzip data", false},
	{0, "BZh", "bzip2 data", true},
	{0, "\xfd7zXZ\x00", "xz data", false},
	{0, "\x28\xb5\x2f\xfd", "zstd data", false},
	{0, "7z\xbc\xaf\x27\x1c", "7-Zip archive", false},
	{0, "Rar!\x1a\x07", "RAR archive", false},
	{257, "ustar", "tar archive", true},
	{0, "!<arch>\n", "ar archive", false},
	{0, "\x7fELF", "ELF program or library", false},
	{0, "MZ", "Windows program or library", true},
	{0, "\xfe\xed\xfa", "Mach-O program or library", false},
	{0, "\xcf\xfa\xed\xfe", "Mach-O program or library", false},
	{0, "\xca\xfe\xba\xbe", "Java class or universal binary", false},
	{0, "\x00asm", "WebAssembly module", false},
	{0, "SQLite format 3\x00", "SQLite database", false},
	{0, "wOFF", "font", true},
	{0, "wOF2", "font", true},
	{0, "OTTO", "font", true},
	{0, "\x00\x01\x00\x00", "font", true},
	{0, "ID3", "MP3 audio", true},
	{0, "OggS", "Ogg audio or video", true},
	{0, "fLaC", "FLAC audio", true},
	{4, "ftyp", "MP4 video or HEIF image", true},
	{8, "WAVE", "WAV audio", true},
	{8, "AVI ", "AVI video", true},
	{0, "\x1aE\xdf\xa3", "Matroska or WebM video", false},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Microsoft Office document", false},
}

// Magic names the kind of binary file that begins with head, or returns "".
func Magic(head []byte) string {
	for _, m := range magics {
		if len(head) < m.at || !bytes.HasPrefix(head[m.at:], []byte(m.prefix)) {
			continue
		}
		if m.weak && bytes.IndexByte(head[:min(len(head), 8192)], 0) < 0 {
			continue
		}
		return m.kind
	}
	return ""
}
