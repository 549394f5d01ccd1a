package composer

func opposite(find rune) rune {
	return map[rune]rune{'f': 'F', 'F': 'f', 't': 'T', 'T': 't'}[find]
}

func lastIndex(text []rune, r rune) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == r {
			return i
		}
	}
	return -1
}
