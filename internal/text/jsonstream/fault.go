package jsonstream

import (
	"fmt"
)

// The faults: what each one says, and what it advises.

const sendObject = `Send one complete JSON object such as {"file_path": "/a"}.`

// separation is the advice when c follows a value that ended with before.
func separation(before, c byte) string {
	switch {
	case before == '"':
		return `Write a double quote inside a string as \", and put ',' between values.`
	case c == '"' || c == '{' || c == '[':
		return `Put ',' between values.`
	case c == '}' || c == ']':
		return `Close each '{' with '}' and each '[' with ']', the innermost first.`
	}
	return sendObject
}

// count names a number of bytes.
func count(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
