package main

var measurements = []measurement{
	{"connect deadline of 1 s", "≤ 1.5 s", (*bench).deadline},
	{"shutdown of 10 servers, 2 deaf, 2 with grandchildren", "< 1.5 s", (*bench).shutdown},
	{"crash to next answer", "", (*bench).crash},
	{"20 servers side by side, the slowest alone", "≤ 1.3×", (*bench).parallel},
	{"start returns with a server of 30 s", "0", (*bench).prompt},
	{"tools of a cached server", "0 ms", (*bench).cached},
	{"call over the bare SDK, p50", "≤ 50 µs more", (*bench).overhead},
	{"calls per second, 8 at once", "", (*bench).throughput},
	{"result of 10 MB, allocated", "≤ 4×", (*bench).large},
	{"result of 100 MB", "that call fails, the session lives", (*bench).huge},
	{"tool block over 100 restarts", "byte-identical", (*bench).stable},
	{"500 deferred tools, share of 200k tokens", "≤ 2 %", (*bench).deferral},
	{"cancel to return", "< 100 ms", (*bench).cancel},
}
