//go:build unix && race

package page_test

// raceDetector says that times mean nothing here.
const raceDetector = true
