// Package qr draws a text as a QR code, for a phone's camera: [Encode], then [Code.SVG] for a
// page or [Code.Text] for a terminal.
//
// rsc.io/qr makes the code, with error correction of level M; this package only draws it.
// Everything is a pure function, safe for concurrent use.
package qr
