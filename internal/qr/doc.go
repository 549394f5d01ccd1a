// Package qr draws a text as a QR code, for a phone's camera: [Encode], then [Code.SVG] for a
// page or [Code.Text] for a terminal.
//
// It writes bytes (the mode for any text) with error correction of level M, in the smallest
// of the 40 versions that ISO/IEC 18004 has. Everything is a pure function, safe for
// concurrent use.
package qr
