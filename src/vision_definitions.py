"""Constants of NAOqi's module `vision_definitions`, which programs for a NAO import.

Numbers of resolutions, colour spaces, parameters and cameras [naoqi_driver2].
"""

kQQVGA, kQVGA, kVGA, k4VGA, k16VGA, kQQQVGA, kQQQQVGA = 0, 1, 2, 3, 4, 7, 8
kYuvColorSpace, kyUvColorSpace, kyuVColorSpace = 0, 1, 2
kRgbColorSpace, krGbColorSpace, krgBColorSpace = 3, 4, 5
kHsyColorSpace, khSyColorSpace, khsYColorSpace = 6, 7, 8
kYUV422ColorSpace, kYUVColorSpace, kRGBColorSpace = 9, 10, 11
kHSYColorSpace, kBGRColorSpace, kYYCbCrColorSpace = 12, 13, 14
kH2RGBColorSpace, kHSMixedColorSpace = 15, 16
kCameraBrightnessID, kCameraContrastID, kCameraSaturationID, kCameraHueID = 0, 1, 2, 3
kCameraGainID, kCameraHFlipID, kCameraVFlipID = 6, 7, 8
kCameraAutoExpositionID, kCameraAutoWhiteBalanceID, kCameraAutoGainID = 11, 12, 13
kCameraResolutionID, kCameraFrameRateID, kCameraBufferSizeID = 14, 15, 16
kCameraExposureID, kCameraSelectID, kCameraSetDefaultParamsID = 17, 18, 19
kCameraColorSpaceID, kCameraExposureCorrectionID = 20, 21
kTopCamera, kBottomCamera = 0, 1
