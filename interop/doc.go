// Package interop has no code of its own: its tests put Redisson, the real one, beside the locks of this module and let
// both share every object.
//
// The other side is the Java program in the folder java, which obeys commands that come as lines of JSON on its standard
// input. The tests build it with Maven when its sources have changed, start it, and drive it beside clients of this
// module on the same servers: each case once with Java first and once with Go first.
//
// The tests need a JDK 17, Maven, redis-server and some minutes, so they are run on request:
//
//	REDLATCH_INTEROP=1 go test ./interop
//
// With REDLATCH_REDISSON_VERSION=3.52.0, say, the other side is that version of Redisson; without, the one in
// java/pom.xml. The program is compiled once and linked when it runs. Which cases older versions are left out of, and why,
// is in versions_test.go; .ci/run runs the basic ones with four of them.
//
// Otherwise, and where Java is missing, they are left out with one line that says so. REDLATCH_REQUIRE_REAL=1, which
// .ci/run sets, is such a request too, and there whatever is missing is a failure. With REDLATCH_INTEROP_LOG=1 the last
// of what Redisson logged is printed at the end.
package interop
