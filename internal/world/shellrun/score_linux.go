package shellrun

import (
	"os"
	"strconv"
	"strings"
)

// A score is the file in which this process tells the kernel how early to end it when there is
// no memory left. Children inherit it when they are started: raised for that moment, it is
// theirs from their first instruction, and costs two writes. Nil where there is no such file.
type score struct {
	file *os.File
	own  string // of this process
}

func openScore() *score {
	file, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	var text [16]byte
	n, _ := file.Read(text[:])
	own := strings.TrimSpace(string(text[:n]))
	now, err := strconv.Atoi(own)
	if most, _ := strconv.Atoi(expendable); err != nil || now >= most {
		file.Close()
		return nil
	}
	return &score{file, own}
}

// raised calls start, and lets the processes be expendable that it starts. It reports false if this process could not
// get its own score back.
func (s *score) raised(start func()) (lowered bool) {
	if s == nil {
		start()
		return true
	}
	_, _ = s.file.WriteAt([]byte(expendable), 0)
	start()
	_, err := s.file.WriteAt([]byte(s.own), 0)
	return err == nil
}
