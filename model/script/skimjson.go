package script

import "bytes"

// The bodies of long conversations are megabytes of which a few words matter, so
// they are skimmed and not decoded: requests of a thousandth turn must not cost
// the machine that is being measured. What is skimmed has been checked for
// balance only; a body that is not JSON yields less, and never fails.

// members calls f with the raw key and value of each member of a JSON object.
func members(object []byte, f func(key, value []byte)) {
	s := &skimmer{rest: object}
	if !s.take('{') {
		return
	}
	for {
		key := s.value()
		if len(key) < 2 || key[0] != '"' || !s.take(':') {
			return
		}
		value := s.value()
		if len(value) == 0 {
			return
		}
		f(key[1:len(key)-1], value)
		if !s.take(',') {
			return
		}
	}
}

// elements calls f with each raw element of a JSON array.
func elements(array []byte, f func(value []byte)) {
	s := &skimmer{rest: array}
	if !s.take('[') {
		return
	}
	for {
		value := s.value()
		if len(value) == 0 {
			return
		}
		f(value)
		if !s.take(',') {
			return
		}
	}
}

// member returns the raw value of one member of a JSON object; nil if there is none.
func member(object []byte, name string) []byte {
	var found []byte
	members(object, func(key, value []byte) {
		if string(key) == name {
			found = value
		}
	})
	return found
}

type skimmer struct{ rest []byte }

func (s *skimmer) take(c byte) bool {
	s.rest = bytes.TrimLeft(s.rest, " \t\r\n")
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// value takes one value; nothing if none begins here or it does not end.
func (s *skimmer) value() []byte {
	s.rest = bytes.TrimLeft(s.rest, " \t\r\n")
	n := length(s.rest)
	value := s.rest[:n]
	s.rest = s.rest[n:]
	return value
}

// length returns how long the value at the beginning of raw is.
func length(raw []byte) int {
	if len(raw) == 0 {
		return 0
	}
	switch raw[0] {
	case '"':
		return stringLength(raw)
	case '{', '[':
		return nestedLength(raw)
	}
	n := bytes.IndexAny(raw, ",]} \t\r\n")
	if n < 0 {
		return len(raw)
	}
	return n
}

func stringLength(raw []byte) int {
	for i := 1; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return 0
		}
		i += n
		slashes := 0
		for raw[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return 0
}

func nestedLength(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			n := stringLength(raw[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		}
	}
	return 0
}
