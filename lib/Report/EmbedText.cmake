# cmake -DINPUT=FILE -DOUTPUT=FILE -P EmbedText.cmake: a text file as a raw string literal of C++.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"text(${text})text\"\n")
