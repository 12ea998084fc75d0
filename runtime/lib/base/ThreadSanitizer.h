//===- ThreadSanitizer.h - Whether it watches this build --------*- C++ -*-===//

#ifndef HONERT_BASE_THREADSANITIZER_H
#define HONERT_BASE_THREADSANITIZER_H

#ifdef __SANITIZE_THREAD__ // GCC
#define HONERT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HONERT_TSAN 1
#endif
#endif
#ifndef HONERT_TSAN
#define HONERT_TSAN 0
#endif

#endif // HONERT_BASE_THREADSANITIZER_H
